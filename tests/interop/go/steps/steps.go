// Package steps is the step protocol as Go speaks it, and the records that every scenario writes (../../README.md).
//
// A step runs where it is written. What it returns is its detail; a failure is a panic (Must, Check), caught by the step,
// and later steps run all the same.
package steps

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What every scenario agrees on.
const (
	Partitions      = 3
	Retention       = "3600000"
	MessageBytesMax = 20_000
)

// Where the brokers are, and the names that belong to this run.
var (
	Bootstrap = strings.Split(os.Args[1], ",")
	Topic     = os.Args[2]
	Replicas  = Get(strconv.Atoi(os.Args[3]))
	// Bounces says that brokers come and go meanwhile.
	Bounces = Replicas > 1
	// Patience is how long a question may stay open.
	Patience = patience()
	// Session is how long a group misses a member before it is thrown out. One that could not take its leave must be missed
	// before the next broker goes down: then its session begins anew.
	Session = session()
	Group   = Topic + "-group"
	Missing = Topic + "-missing"
	// After is written while or after the broker restarts.
	After = []string{"after 0", "after 1", "after 2", "after 3", "after 4"}
)

var input = bufio.NewReader(os.Stdin)

// Record is what is written: a nil Key means none.
type Record struct{ Key, Value []byte }

func say(words ...any) {
	fmt.Println(strings.ReplaceAll(strings.TrimSuffix(fmt.Sprintln(words...), "\n"), "\n", " "))
}

// Version says which version of the module was built in.
func Version(module string) {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			say("version", strings.TrimPrefix(dependency.Version, "v"))
		}
	}
}

// Step runs a step and says how it went.
func Step(name string, body func() string) {
	defer func() {
		if failure := recover(); failure != nil {
			say("step", name, "fail", failure)
		}
	}()
	say("step", name, "ok", body())
}

// None says that the client has no such thing.
func None(name, reason string) { say("step", name, "none", reason) }

// Must fails the step on an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Get gives the value, or fails the step.
func Get[T any](value T, err error) T {
	Must(err)
	return value
}

// Check fails the step unless it is so.
func Check(so bool, format string, values ...any) {
	if !so {
		panic(fmt.Sprintf(format, values...))
	}
}

// Until asks until it is so; what is asked does the waiting.
func Until(what string, ask func() bool) {
	for deadline := time.Now().Add(Patience); !ask(); {
		Check(time.Now().Before(deadline), "not within %v: %s", Patience, what)
	}
}

func session() time.Duration {
	if Bounces {
		return 6 * time.Second
	}
	return 10 * time.Second
}

func patience() time.Duration {
	if Bounces {
		return 120 * time.Second
	}
	return 60 * time.Second
}

// Insist does it. While brokers come and go it is tried until they do not disturb it; an error in `done` tells, on a
// repetition, that an earlier try was heard and only its answer was lost. What panics is a wrong result at any time.
func Insist(action func() error, done ...error) {
	deadline := time.Now().Add(Patience)
	for tries := 1; ; tries++ {
		err := action()
		wasHeard := func(known error) bool { return tries > 1 && errors.Is(err, known) }
		if err == nil || slices.ContainsFunc(done, wasHeard) {
			return
		}
		if !Bounces || time.Now().After(deadline) {
			panic(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Ask is Insist for what gives a value.
func Ask[T any](action func() (T, error)) (value T) {
	Insist(func() (err error) { value, err = action(); return err })
	return value
}

// Refused does what must fail in this way, and gives what it said.
func Refused(wanted error, action func() error) string {
	var told string
	Insist(func() error {
		err := action()
		Check(err != nil, "nothing was refused")
		if errors.Is(err, wanted) {
			told = err.Error()
			return nil
		}
		return err
	})
	return told
}

// Within gives a context that ends after the patience.
func Within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// Restart has the broker restarted, and waits until it is back.
func Restart() {
	say("restart please")
	answer := Get(input.ReadString('\n'))
	Check(strings.TrimSpace(answer) == "restarted", "asked for a restart, was told %q", answer)
}

// Records are ten with keys and ten without.
func Records(codec string) (records []Record) {
	padding := strings.Repeat("ä", 50)
	for i := range 10 {
		records = append(records, Record{fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "%s keyed %d %s", codec, i, padding)})
	}
	for i := range 10 {
		records = append(records, Record{nil, fmt.Appendf(nil, "%s plain %d %s", codec, i, padding)})
	}
	return records
}

// AllValues is what a reader of the whole topic must see.
func AllValues(codecs []string) (values []string) {
	for _, codec := range codecs {
		for _, record := range Records(codec) {
			values = append(values, string(record.Value))
		}
	}
	slices.Sort(values)
	return values
}

// CheckValues fails the step unless these are the values, in any order.
func CheckValues(found, wanted []string) {
	found = slices.Sorted(slices.Values(found))
	Check(slices.Equal(found, wanted), "%d values instead of %d: %v", len(found), len(wanted), found)
}

// CheckSeen is CheckValues for what a group has read. It may read again when its coordinator or its member was lost, and a
// producer without idempotence may write again: while brokers come and go each value counts once.
func CheckSeen(found, wanted []string) {
	if Bounces {
		found = slices.Compact(slices.Sorted(slices.Values(found)))
	}
	CheckValues(found, wanted)
}

// Settles checks that it is so. While brokers come and go, one that has just come back may be the one that has not heard yet.
func Settles(what string, ask func() string, wanted string) {
	if Bounces {
		Until(what, func() bool { return ask() == wanted })
		return
	}
	told := ask()
	Check(told == wanted, "%s=%s", what, told)
}

// HasAll tells whether every wanted value has been seen, how often soever.
func HasAll(found, wanted []string) bool {
	seen := map[string]bool{}
	for _, value := range found {
		seen[value] = true
	}
	return !slices.ContainsFunc(wanted, func(value string) bool { return !seen[value] })
}
