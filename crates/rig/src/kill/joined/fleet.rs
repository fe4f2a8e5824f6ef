//! The processes of a cycle: started together, killed and stopped, asked to end, and compared.

use super::cycle::Event;
use super::log_servers::LogServers;
use super::report::Report;
use crate::kill::ledger::{Findings, Ledger};
use crate::kill::said::Said;
use chiliad_host::{Heard, Process, Stop};
use std::ffi::OsString;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// How often the processes are listened to.
const LISTEN: Duration = Duration::from_millis(1);

/// How long a process may take to say what it has been asked for: those that keep the log may be electing.
const PATIENCE: Duration = Duration::from_secs(180);

/// Part of the error of a server that lags behind the first record of a trimmed log: it joins again in the next cycle.
const LEFT_BEHIND: &str = "was trimmed";

/// A process, as far as it has told.
struct Member {
    process: Process<Said>,
    is_ready: bool,
    is_stopped: bool,
    was_killed: bool,
    has_ended: bool,
    /// The fingerprints of its servers.
    has: Vec<String>,
}

/// The processes of a cycle.
pub struct Fleet {
    members: Vec<Member>,
}

impl Fleet {
    /// Starts a process with each of `words`, kills the one of `early` so long after that, and waits until the clients of
    /// the others work.
    pub fn start(
        words: Vec<Vec<OsString>>,
        early: Option<(usize, Duration)>,
        ledger: &mut Ledger,
        report: &mut Report,
        findings: &mut Findings,
    ) -> Result<Self, Stop> {
        let member = |words| {
            let process = Process::start(words, Said::read)?;
            let has = Vec::new();
            let [is_ready, is_stopped, was_killed, has_ended] = [false; 4];
            Ok::<_, Stop>(Member { process, is_ready, is_stopped, was_killed, has_ended, has })
        };
        let members = words.into_iter().map(member).collect::<Result<_, _>>()?;
        let mut fleet = Self { members };
        if let Some((number, after)) = early {
            thread::sleep(after);
            fleet.act(Event::Kill(number), &mut None, report)?;
        }
        fleet.wait("join", |member| member.is_ready, ledger, report, findings)?;
        Ok(fleet)
    }

    /// Does what the events say, each so long after now, and lets all work for a time.
    pub fn work(
        &mut self,
        events: &[(Duration, Event)],
        time: Duration,
        log_servers: &mut Option<LogServers>,
        (ledger, report): (&mut Ledger, &mut Report),
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        let begun = Instant::now();
        let mut events = events.iter().peekable();
        loop {
            let passed = begun.elapsed();
            while let Some((_, event)) = events.next_if(|(at, _)| *at <= passed) {
                self.act(*event, log_servers, report)?;
            }
            self.listen(ledger, report, findings)?;
            if passed >= time && events.peek().is_none() {
                return Ok(());
            }
            thread::sleep(LISTEN);
        }
    }

    fn act(
        &mut self,
        event: Event,
        log_servers: &mut Option<LogServers>,
        report: &mut Report,
    ) -> Result<(), Stop> {
        match (event, log_servers) {
            (Event::Kill(number), _) => {
                let member = &mut self.members[number];
                if !member.has_ended {
                    member.was_killed = true;
                    member.process.kill()?;
                    report.killed += 1;
                }
            }
            (Event::Pause(number), _) => {
                report.paused += 1;
                self.members[number].signal("-STOP");
            }
            (Event::Continue(number), _) => self.members[number].signal("-CONT"),
            (Event::KillLog(whom), Some(log)) => report.log_killed += log.kill(whom)?,
            (Event::StartLog, Some(log)) => log.start()?,
            (Event::PauseLog, Some(log)) => report.log_paused += u64::from(log.pause()?),
            (Event::ContinueLog, Some(log)) => log.go_on()?,
            (Event::CutLog(cut), Some(log)) => report.log_cut += u64::from(log.cut(cut)?),
            (Event::ReconnectLog, Some(log)) => log.reconnect()?,
            (_, None) => {}
        }
        Ok(())
    }

    /// Ends the clients, and then the processes; returns what each server of those that live has.
    pub fn end(
        &mut self,
        ledger: &mut Ledger,
        report: &mut Report,
        findings: &mut Findings,
    ) -> Result<Vec<String>, Stop> {
        self.tell("stop");
        self.wait("stop", |member| member.is_stopped, ledger, report, findings)?;
        self.tell("compare");
        self.wait("compare", |member| !member.has.is_empty(), ledger, report, findings)?;
        self.members.iter_mut().for_each(|member| member.process.close());
        self.wait("end", |_| false, ledger, report, findings)?;
        Ok(self.members.iter_mut().flat_map(|member| std::mem::take(&mut member.has)).collect())
    }

    fn tell(&mut self, order: &str) {
        self.members.iter_mut().for_each(|member| member.process.tell(order));
    }

    /// Listens until all have ended or have done what they are to.
    fn wait(
        &mut self,
        what: &str,
        done: impl Fn(&Member) -> bool,
        ledger: &mut Ledger,
        report: &mut Report,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        let begun = Instant::now();
        while !self.members.iter().all(|member| member.has_ended || done(member)) {
            self.listen(ledger, report, findings)?;
            if begun.elapsed() > PATIENCE {
                return Err(Stop::Failed(format!("a process does not {what}")));
            }
            thread::sleep(LISTEN);
        }
        Ok(())
    }

    /// Takes note of all that was said by now.
    fn listen(
        &mut self,
        ledger: &mut Ledger,
        report: &mut Report,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        for (number, member) in self.members.iter_mut().enumerate() {
            while !member.has_ended {
                match member.process.hear(Some(Instant::now()))? {
                    Heard::Time => break,
                    Heard::End => member.end(number, report, findings)?,
                    Heard::Said(said) => {
                        report.acknowledged += u64::from(ledger.note(&said, findings));
                        member.note(said, report);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Member {
    fn note(&mut self, said: Said, report: &mut Report) {
        match said {
            Said::Opened(time) => report.openings_us.push(time),
            Said::Ready => self.is_ready = true,
            Said::Stopped => self.is_stopped = true,
            Said::CheckpointEnds => report.checkpoints += 1,
            Said::Has { text, .. } => self.has.push(text),
            _ => {}
        }
    }

    /// It has closed its output.
    fn end(
        &mut self,
        number: usize,
        report: &mut Report,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        self.has_ended = true;
        let ended = self.process.wait()?;
        if self.was_killed {
            return Ok(());
        }
        let is_left_behind = ended.why.contains(LEFT_BEHIND);
        report.left_behind += u64::from(is_left_behind);
        let ends_well = is_left_behind || ended.orderly && self.is_stopped;
        findings.demand(ends_well, || format!("process {number} ended by itself: {}", ended.why));
        Ok(())
    }

    /// Sends it a signal. One that has ended is not there to get it.
    fn signal(&self, signal: &str) {
        let _ = Command::new("kill").args([signal, &self.process.id().to_string()]).output();
    }
}
