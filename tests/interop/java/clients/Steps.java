// The step protocol as Java speaks it, and the records that every scenario writes (../../README.md).
//
// A step runs where it is written. What it returns is its detail, what it throws is its failure; later steps run all the
// same.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;

final class Steps {
    static final int PARTITIONS = 3;
    static final String RETENTION_MS = "3600000";
    static final int MESSAGE_BYTES_MAX = 20_000;
    /** While brokers come and go questions stay open for longer, and what a group reads may come again. */
    static boolean bounces;
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    static final List<String> AFTER = List.of("after 0", "after 1", "after 2", "after 3", "after 4");
    private static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

    /** A key (null: none) and a value. */
    record Pair(String key, String value) {}

    private Steps() {}

    static void say(String line) {
        System.out.println(line.replace('\n', ' ').strip());
        System.out.flush();
    }

    static void step(String name, Callable<String> body) {
        try {
            say("step " + name + " ok " + body.call());
        } catch (Throwable failure) {
            say("step " + name + " fail " + failure);
        }
    }

    /** Has the broker restarted, and waits until it is back. */
    static void restart() throws Exception {
        say("restart please");
        String answer = INPUT.readLine();
        check("restarted".equals(answer), "asked for a restart, was told " + answer);
    }

    static void check(boolean so, Object what) {
        if (!so) throw new AssertionError(String.valueOf(what));
    }

    static void equal(Object found, Object wanted) {
        check(wanted.equals(found), "found " + found + ", wanted " + wanted);
    }

    /** Asks until it is so; what is asked does the waiting. */
    static void until(String what, BooleanSupplier ask) {
        for (long end = System.nanoTime() + patience().toNanos(); !ask.getAsBoolean(); )
            check(System.nanoTime() < end, "not within " + patience() + ": " + what);
    }

    static Duration patience() {
        return Duration.ofSeconds(bounces ? 120 : 60);
    }

    /**
     * Does it. While brokers come and go it is tried until they do not disturb it; {@code heard} is the error by which a
     * repetition says that an earlier try was heard and only its answer was lost.
     */
    static <T> T insist(Class<? extends Exception> heard, Callable<T> action) throws Exception {
        long end = System.nanoTime() + patience().toNanos();
        for (int tries = 1; ; tries++) {
            try {
                return action.call();
            } catch (Exception error) {
                if (tries > 1 && heard != null && heard.isInstance(cause(error, heard))) return null;
                if (!bounces || System.nanoTime() > end) throw error;
                Thread.sleep(200);
            }
        }
    }

    static <T> T insist(Callable<T> action) throws Exception {
        return insist(null, action);
    }

    private static Throwable cause(Exception error, Class<? extends Exception> wanted) {
        return wanted.isInstance(error) || error.getCause() == null ? error : error.getCause();
    }

    /** It is so. While brokers come and go, one that has just come back may be the one that has not heard yet. */
    static void settles(String what, Callable<String> ask, String wanted) throws Exception {
        for (long end = System.nanoTime() + patience().toNanos(); !wanted.equals(ask.call()); )
            check(bounces && System.nanoTime() < end, what + " is not " + wanted);
    }

    /** What a group has read, in order. It may read again when its coordinator or its member was lost. */
    static List<String> once(List<String> values) {
        return (bounces ? values.stream().distinct() : values.stream()).sorted().toList();
    }

    /** The action must fail with this error, itself or as the cause; gives what it said. */
    static String refused(Class<? extends Exception> wanted, Callable<?> action) throws Exception {
        return insist(() -> {
            try {
                action.call();
            } catch (Exception error) {
                Throwable cause = cause(error, wanted);
                if (!wanted.isInstance(cause)) throw error;
                return cause.getMessage();
            }
            throw new AssertionError("nothing was refused");
        });
    }

    /** Ten records with keys and ten without. */
    static List<Pair> records(String codec) {
        List<Pair> records = new ArrayList<>();
        for (int i = 0; i < 10; i++) records.add(new Pair("k" + i, codec + " keyed " + i + " " + "ä".repeat(50)));
        for (int i = 0; i < 10; i++) records.add(new Pair(null, codec + " plain " + i + " " + "ä".repeat(50)));
        return records;
    }

    static List<String> allValues() {
        return CODECS.stream().flatMap(codec -> records(codec).stream()).map(Pair::value).sorted().toList();
    }
}
