import java.io.StringReader;
import java.math.BigDecimal;
import java.sql.*;
import org.postgresql.PGConnection;

/** The JDBC driver, unmodified. The server is that of PGHOST and PGPORT. */
public class Jdbc {
    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static int count(Connection db, String sql) throws SQLException {
        try (Statement st = db.createStatement(); ResultSet rows = st.executeQuery(sql)) {
            rows.next();
            return rows.getInt(1);
        }
    }

    static void types(Connection db) throws SQLException {
        try (Statement st = db.createStatement()) {
            st.execute("DROP TABLE IF EXISTS c_types");
            st.execute("CREATE TABLE c_types (id int PRIMARY KEY, a boolean, b bigint, c numeric(20,5), d text, e bytea, f timestamp, g date, h float8)");
        }
        // After five executions values are binary.
        for (int id = 0; id < 10; id++) {
            try (PreparedStatement put = db.prepareStatement("INSERT INTO c_types VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                put.setInt(1, id);
                put.setBoolean(2, true);
                put.setLong(3, Long.MIN_VALUE);
                put.setBigDecimal(4, new BigDecimal("123456789012345.54321"));
                put.setString(5, "naïve");
                put.setBytes(6, new byte[] {0, -1});
                put.setTimestamp(7, Timestamp.valueOf("2024-02-29 12:30:00.5"));
                put.setDate(8, Date.valueOf("1999-12-31"));
                put.setNull(9, Types.DOUBLE);
                check(put.executeUpdate() == 1, "inserted");
            }
            try (PreparedStatement get = db.prepareStatement("SELECT * FROM c_types WHERE id = ?")) {
                get.setInt(1, id);
                ResultSet row = get.executeQuery();
                check(row.next() && row.getBoolean(2) && row.getLong(3) == Long.MIN_VALUE, "numbers");
                check(row.getBigDecimal(4).equals(new BigDecimal("123456789012345.54321")), "numeric");
                check(row.getString(5).equals("naïve") && row.getBytes(6)[1] == -1, "texts");
                check(row.getTimestamp(7).equals(Timestamp.valueOf("2024-02-29 12:30:00.5")), "timestamp");
                check(row.getDate(8).equals(Date.valueOf("1999-12-31")), "date");
                check(row.getDouble(9) == 0 && row.wasNull(), "null");
            }
        }
        try (Statement st = db.createStatement()) { st.execute("DROP TABLE c_types"); }
    }

    static void batches(Connection db) throws SQLException {
        try (Statement st = db.createStatement()) {
            st.execute("DROP TABLE IF EXISTS c_batch");
            st.execute("CREATE TABLE c_batch (id serial PRIMARY KEY, n int)");
        }
        try (PreparedStatement put = db.prepareStatement("INSERT INTO c_batch (n) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int n = 0; n < 1000; n++) {
                put.setInt(1, n);
                put.addBatch();
            }
            check(put.executeBatch().length == 1000, "a batch");
            ResultSet keys = put.getGeneratedKeys();
            check(keys.next() && keys.getInt(1) > 0, "keys");
        }
        db.setAutoCommit(false);
        try (PreparedStatement get = db.prepareStatement("SELECT n FROM c_batch ORDER BY n")) {
            get.setFetchSize(7);
            ResultSet rows = get.executeQuery();
            int found = 0;
            while (rows.next()) check(rows.getInt(1) == found++, "in pieces");
            check(found == 1000, "all of them");
        }
        db.commit();
        db.setAutoCommit(true);
        try (Statement st = db.createStatement()) { st.execute("DROP TABLE c_batch"); }
    }

    static void transactions(Connection db) throws SQLException {
        try (Statement st = db.createStatement()) {
            st.execute("DROP TABLE IF EXISTS c_tx");
            st.execute("CREATE TABLE c_tx (id int PRIMARY KEY)");
            db.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            db.setAutoCommit(false);
            st.execute("INSERT INTO c_tx VALUES (1)");
            Savepoint savepoint = db.setSavepoint();
            try {
                st.execute("INSERT INTO c_tx VALUES (1)");
                check(false, "twice");
            } catch (SQLException error) {
                check(error.getSQLState().equals("23505"), error.getSQLState());
            }
            db.rollback(savepoint);
            st.execute("INSERT INTO c_tx VALUES (2)");
            db.commit();
            st.execute("INSERT INTO c_tx VALUES (3)");
            db.rollback();
            db.setAutoCommit(true);
            check(count(db, "SELECT count(*) FROM c_tx") == 2, "two rows");
            st.execute("DROP TABLE c_tx");
        }
    }

    static void copy(Connection db) throws Exception {
        try (Statement st = db.createStatement()) {
            st.execute("DROP TABLE IF EXISTS c_copy");
            st.execute("CREATE TABLE c_copy (id int PRIMARY KEY, v text)");
            StringBuilder rows = new StringBuilder();
            for (int n = 0; n < 5000; n++) rows.append(n).append(",v").append(n).append('\n');
            long done = db.unwrap(PGConnection.class).getCopyAPI()
                .copyIn("COPY c_copy FROM STDIN (FORMAT csv)", new StringReader(rows.toString()));
            check(done == 5000 && count(db, "SELECT count(*) FROM c_copy") == 5000, "copied");
            st.execute("DROP TABLE c_copy");
        }
    }

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/test?user=ann";
        for (String more : new String[] {"", "&preferQueryMode=simple", "&reWriteBatchedInserts=true"}) {
            try (Connection db = DriverManager.getConnection(url + more)) {
                types(db);
                batches(db);
                transactions(db);
                copy(db);
                System.out.println("ok: " + url + more);
            }
        }
    }
}
