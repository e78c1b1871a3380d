package org.ballast.testing;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A JUnit 5 extension: a Ballast broker of its own for every test, told to misbehave over HTTP.
 *
 * <pre>
 * {@literal @}RegisterExtension
 * final Ballast broker = new Ballast();
 * </pre>
 *
 * Copy this file into your tests. The program is found through the environment variable BALLAST, or on the search path.
 */
public final class Ballast implements BeforeEachCallback, AfterEachCallback {
    private static final Duration READY_MAX = Duration.ofSeconds(30);
    private static final Pattern ID = Pattern.compile("\"id\":(\\d+)");

    private final List<String> settings;
    private final HttpClient client = HttpClient.newHttpClient();
    private Path folder;
    private Process process;
    private String bootstrap;
    private String http;

    /** A broker with these settings ({@code key=value}). */
    public Ballast(String... settings) {
        this.settings = new ArrayList<>(List.of(settings));
        // One node whose groups settle at once, and faults over HTTP.
        this.settings.add(0, "test.faults.enable=true");
        this.settings.add(0, "group.initial.rebalance.delay.ms=0");
        this.settings.add(0, "offsets.topic.num.partitions=1");
    }

    /** What clients bootstrap from. */
    public String bootstrap() {
        return bootstrap;
    }

    /** Plants a fault, {@code {"fault": "fail_next", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER"}}, and gives its id. */
    public long fault(String json) {
        Matcher id = ID.matcher(ask("POST", "/api/v1/faults", json));
        if (!id.find()) {
            throw new IllegalStateException("a planted fault has an id");
        }
        return Long.parseLong(id.group(1));
    }

    /** How often a fault has happened. */
    public long fired(long id) {
        Pattern fired = Pattern.compile("\"id\":" + id + ",[^}]*\"fired\":(\\d+)");
        Matcher count = fired.matcher(ask("GET", "/api/v1/faults", ""));
        return count.find() ? Long.parseLong(count.group(1)) : 0;
    }

    /** Removes every fault. */
    public void clearFaults() {
        ask("DELETE", "/api/v1/faults", "");
    }

    /** Writes requests down from now on. */
    public void record() {
        ask("POST", "/api/v1/requests", "");
    }

    /** The requests of one API since {@link #record}, as JSON. */
    public String requests(String api) {
        return ask("GET", "/api/v1/requests?api=" + api, "");
    }

    @Override
    public void beforeEach(ExtensionContext context) throws Exception {
        folder = Files.createTempDirectory("ballast-test-");
        Path ready = folder.resolve("ready");
        Path log = folder.resolve("log");
        String program = System.getenv().getOrDefault("BALLAST", "ballast");
        List<String> command = new ArrayList<>(List.of(program, "serve", "--ephemeral", "--listen", "127.0.0.1:0"));
        command.addAll(List.of("--ready-file", ready.toString()));
        settings.forEach(setting -> command.addAll(List.of("--set", setting)));
        process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        long deadline = System.nanoTime() + READY_MAX.toNanos();
        while (!Files.exists(ready)) {
            if (!process.isAlive() || System.nanoTime() > deadline) {
                process.destroyForcibly();
                throw new IOException("the broker did not come up:\n" + Files.readString(log));
            }
            Thread.sleep(2);
        }
        List<String> lines = Files.readAllLines(ready);
        bootstrap = lines.get(0);
        http = lines.stream().filter(line -> line.startsWith("http=")).findFirst().orElseThrow().substring("http=".length());
    }

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        process.destroy();
        process.waitFor();
        Files.deleteIfExists(folder.resolve("ready"));
        Files.deleteIfExists(folder.resolve("log"));
        Files.delete(folder);
    }

    private String ask(String method, String path, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + http + path))
            .header("content-type", "application/json")
            .method(method, BodyPublishers.ofString(body))
            .build();
        try {
            var response = client.send(request, BodyHandlers.ofString());
            if (response.statusCode() >= 400) {
                throw new IllegalArgumentException(response.body());
            }
            return response.body();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(error);
        }
    }
}
