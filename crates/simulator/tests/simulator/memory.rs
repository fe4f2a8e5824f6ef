//! Memory: freed and poisoned blocks, addresses, exhaustion.

use crate::common::{configs, words};
use chiliad_machine::{Class, Link, Machine, Ordering, Tagged, Word};
use chiliad_simulator::{Access, Config, MemoryModel, Outcome, Run, Sim, SimWord, Verdict};
use chiliad_simulator::{UseOfFreedMemory, trace_freeing};
use std::alloc::Layout;
use std::ptr::NonNull;

use Ordering::{Acquire, Relaxed, Release};

type Pointer = <Sim as Machine>::Link<SimWord>;

/// A block holding one link.
fn link() -> &'static Pointer {
    let layout = Layout::new::<Pointer>();
    let block = Sim::alloc(layout, Class::Control).expect("room").cast::<Pointer>();
    // SAFETY: the block is ours and large enough, and lives as long as the run.
    unsafe {
        block.write(Pointer::new(Tagged::null()));
        block.as_ref()
    }
}

#[inline(never)]
fn follow_the_stale_pointer(published: &Pointer) {
    let pointer = published.load(Acquire).pointer();
    // SAFETY: the region stays mapped; whether the word may be accessed is what is tested.
    unsafe { (*pointer).store(7, Release) };
    // Keeps the call above from becoming a jump, which would take us off the stack.
    std::hint::black_box(pointer);
}

#[inline(never)]
fn free_too_early(published: &Pointer) {
    let old = published.swap(Tagged::new(std::ptr::from_ref(&words(1)[0]).cast_mut(), 0), Release);
    let block = NonNull::new(old.pointer()).expect("published before").cast::<u8>();
    // SAFETY: the block came from `words(1)`. That a peer may still reach it is what is tested.
    unsafe { Sim::free(block, Layout::new::<SimWord>(), Class::Control) };
    std::hint::black_box(block);
}

fn program(config: Config) -> Outcome {
    let mut run = Run::new(config);
    let published = run.outside(|| {
        let published = link();
        let first = std::ptr::from_ref(&words(1)[0]).cast_mut();
        published.store(Tagged::new(first, 0), Relaxed);
        published
    });
    run.spawn("reader", move || (0..10).for_each(|_| follow_the_stale_pointer(published)));
    run.spawn("freer", move || free_too_early(published));
    run.go()
}

fn report(outcome: &Outcome) -> Option<&UseOfFreedMemory> {
    match &outcome.verdict {
        Verdict::UseOfFreedMemory(report) => Some(report),
        Verdict::Completed => None,
        other => panic!("{other}"),
    }
}

#[test]
fn a_use_of_freed_memory_is_reported_with_both_stacks() {
    for memory_model in [MemoryModel::Sc, MemoryModel::Tso] {
        let mut found = 0;
        for config in configs(memory_model, 100) {
            let outcome = trace_freeing(&config, program);
            let Some(report) = report(&outcome) else { continue };
            found += 1;
            let freed = report.freed.as_ref().expect("it was freed");
            assert_eq!((report.name.as_str(), freed.name.as_str()), ("reader", "freer"));
            assert_eq!(report.access, Access::Store);
            assert!(!freed.poisoned && freed.event <= report.event);
            assert!((1..=2).contains(&outcome.discarded));
            if found == 1 {
                let listed = program(Config { transcript_last: 5, ..config.clone() });
                assert_eq!(listed.trace_hash, outcome.trace_hash);
                assert_eq!(listed.transcript.len(), 5);
                let last = listed.transcript.last().expect("five");
                assert_eq!((last.event, last.address), (report.event, report.address));
                let said = report.to_string();
                assert!(said.contains("follow_the_stale_pointer"), "{said}");
                assert!(said.contains("free_too_early"), "{said}");
                assert!(!said.contains("corosensei") && !said.contains("test::"), "{said}");
            }
        }
        assert!(found > 10, "{found}");
    }
}

#[test]
fn poisoned_words_are_out_of_bounds_until_unpoisoned() {
    for poisoned in [true, false] {
        let mut run = Run::new(Config::new(1));
        let words = run.outside(|| words(4));
        run.spawn("core", move || {
            let start = std::ptr::from_ref(&words[1]).cast::<u8>();
            Sim::poison(start, 16);
            words[0].store(1, Relaxed);
            words[3].store(1, Relaxed);
            if !poisoned {
                Sim::unpoison(start, 16);
            }
            words[2].store(1, Relaxed);
        });
        let outcome = run.go();
        let freed = report(&outcome).and_then(|report| report.freed.as_ref());
        assert_eq!(freed.is_some_and(|freed| freed.poisoned), poisoned);
    }
}

#[test]
fn a_double_free_and_a_wild_pointer_are_reported() {
    let mut run = Run::new(Config::new(1));
    let word = run.outside(|| &words(1)[0]);
    run.spawn("core", move || {
        let block = NonNull::from(word).cast::<u8>();
        for _ in 0..2 {
            // SAFETY: the first is sound; the second is what is tested.
            unsafe { Sim::free(block, Layout::new::<SimWord>(), Class::Control) };
        }
    });
    assert_eq!(report(&run.go()).map(|report| report.access), Some(Access::Free));

    let mut run = Run::new(Config::new(1));
    let word = run.outside(|| &words(1)[0]);
    run.spawn("core", move || {
        let wild = std::ptr::from_ref(word).wrapping_add(1 << 16);
        // SAFETY: the region is reserved that far; the access is refused before it happens.
        unsafe { (*wild).load(Relaxed) };
    });
    let outcome = run.go();
    assert!(report(&outcome).is_some_and(|report| report.freed.is_none()));
}

#[test]
fn outside_the_schedule_a_use_of_freed_memory_is_an_error() {
    let run = Run::new(Config::new(1));
    let word = run.outside(|| {
        let word = &words(1)[0];
        // SAFETY: that the word is used afterwards is what is tested.
        unsafe {
            Sim::free(NonNull::from(word).cast(), Layout::new::<SimWord>(), Class::Control);
        }
        word
    });
    let error = run.try_outside(|| word.load(Relaxed)).expect_err("freed");
    assert_eq!(error.name, "outside");
    assert_eq!(run.try_outside(|| 5).expect("nothing used"), 5);
}

#[test]
fn a_word_outside_the_runs_memory_is_refused() {
    let mut run = Run::new(Config::new(1));
    run.spawn("core", || {
        SimWord::new(1).load(Relaxed);
    });
    let outcome = run.go();
    assert!(matches!(&outcome.verdict, Verdict::CorePanicked(panic)
        if panic.message.contains("outside the run's memory")));
}

#[test]
fn memory_is_limited_and_addresses_are_offsets() {
    let run = Run::new(Config { region_bytes: 4 << 20, ..Config::new(1) });
    run.outside(|| {
        let layout = Layout::from_size_align(1 << 20, 64).expect("a layout");
        let mut blocks = Vec::new();
        while let Some(block) = Sim::alloc(layout, Class::Chunk) {
            blocks.push(Sim::address(block.as_ptr()));
        }
        assert_eq!(blocks.len(), 3);
        assert!(blocks.iter().all(|&address| address < 4 << 20 && address % 64 == 0));
    });
}

/// Uses a freed word while its core unwinds.
struct Late(&'static SimWord);

impl Drop for Late {
    fn drop(&mut self) {
        self.0.store(1, Release);
    }
}

#[test]
fn a_use_of_freed_memory_while_unwinding_leaves_the_host_thread_sound() {
    for seed in 0..10 {
        let mut run = Run::new(Config::new(seed));
        let word = run.outside(|| &words(1)[0]);
        run.spawn("bad", move || {
            // SAFETY: that the word is used afterwards is what is tested.
            unsafe {
                Sim::free(NonNull::from(word).cast(), Layout::new::<SimWord>(), Class::Control);
            }
            let _late = Late(word);
            panic!("on purpose");
        });
        run.spawn("other", || {
            for _ in 0..100 {
                Sim::pause();
                assert!(!std::thread::panicking());
            }
        });
        let outcome = run.go();
        assert!(report(&outcome).is_some());
        assert_eq!(outcome.panics.len(), 1);
        assert!(!std::thread::panicking());
    }
}

#[test]
fn an_outcome_may_travel_between_threads() {
    fn travels<T: Send + Sync>() {}
    travels::<Outcome>();
    travels::<Config>();
}

#[test]
fn stale_pointers_may_see_their_address_again() {
    let layout = Layout::new::<SimWord>();
    let reused = (0..100).filter(|&seed| {
        let run = Run::new(Config::new(seed));
        run.outside(|| {
            let mut addresses = std::collections::BTreeSet::new();
            (0..20).any(|_| {
                let block = Sim::alloc(layout, Class::Control).expect("room");
                let fresh = addresses.insert(Sim::address(block.as_ptr()));
                // SAFETY: nobody else knows the block.
                unsafe { Sim::free(block, layout, Class::Control) };
                !fresh
            })
        })
    });
    assert!((10..50).contains(&reused.count()));
}
