//! The generator's loop: fill the windows, wait for whatever socket is ready, judge what came, count.

use std::collections::VecDeque;

use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::connection::Connection;
use super::{Cpu, Outcome, Pace, Span, Target, Work};
use crate::clock::{SECOND_NS, now_ns, seconds_between, thread_cpu_ns};
use crate::process::machine_busy_seconds;
use crate::{Doing as _, Failure};

/// First size of a connection's buffer of answers; it grows to the largest answer.
const INBOUND_BYTES: usize = 64 << 10;
/// Events taken at once.
const EVENTS_MAX: usize = 64;
/// Name of the timer among the connections.
const TIMER: u64 = u64::MAX;
/// How long to wait for anything at all to happen.
const SILENCE_SECONDS_MAX: i64 = 30;

/// Puts `target` under load and counts what comes back.
///
/// # Errors
/// An answer is wrong, or does not come.
pub fn run(target: &Target, pace: &Pace, work: &mut dyn Work) -> Result<Outcome, Failure> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).doing("epoll")?;
    let mut connections = Vec::new();
    for index in 0..pace.connections {
        let connection = Connection::open(&target.brokers[index % target.brokers.len()], INBOUND_BYTES)?;
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&epoll, &connection.stream, data, epoll::EventFlags::IN).doing("epoll")?;
        connections.push(connection);
    }
    let schedule = pace.rate_per_second.map(|rate| Schedule::new(rate, pace.connections, &epoll)).transpose()?;
    let backlog = vec![VecDeque::new(); pace.connections];
    let (bytes, outcome) = (0, Outcome::new());
    let mut engine = Engine { epoll, connections, schedule, backlog, window: pace.window, work, bytes, outcome };
    engine.turn_for(pace.warm)?;
    engine.outcome = Outcome::new();
    let before = Reading::take(target)?;
    engine.turn_for(pace.run)?;
    let after = Reading::take(target)?;
    let mut outcome = engine.outcome;
    outcome.seconds = seconds_between(before.now_ns, after.now_ns);
    outcome.client_cpu_seconds = seconds_between(before.client_cpu_ns, after.client_cpu_ns);
    outcome.server_cpu_seconds = before.server_cpu.zip(after.server_cpu).map(|(before, after)| after - before);
    outcome.busy_seconds = after.busy - before.busy;
    Ok(outcome)
}

/// The clocks at one end of a window.
struct Reading {
    now_ns: u64,
    client_cpu_ns: u64,
    server_cpu: Option<f64>,
    busy: f64,
}

impl Reading {
    fn take(target: &Target) -> Result<Reading, Failure> {
        let server_cpu = target.cpu.iter().map(Cpu::seconds).sum::<Result<f64, Failure>>()?;
        let server_cpu = (!target.cpu.is_empty()).then_some(server_cpu);
        let busy = machine_busy_seconds()?;
        Ok(Reading { now_ns: now_ns(), client_cpu_ns: thread_cpu_ns(), server_cpu, busy })
    }
}

struct Engine<'a> {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    schedule: Option<Schedule>,
    /// Requests of an open loop that were due while the window was full: the moments.
    backlog: Vec<VecDeque<u64>>,
    window: usize,
    work: &'a mut dyn Work,
    /// Bytes of records of this span.
    bytes: u64,
    outcome: Outcome,
}

impl Engine<'_> {
    fn turn_for(&mut self, span: Span) -> Result<(), Failure> {
        let started = now_ns();
        let until = started + (span.seconds * SECOND_NS as f64) as u64;
        self.bytes = 0;
        let mut events = Vec::with_capacity(EVENTS_MAX);
        for index in 0..self.connections.len() {
            self.fill(index)?;
        }
        while self.bytes < span.bytes && now_ns() < until {
            let patience = Timespec { tv_sec: SILENCE_SECONDS_MAX, tv_nsec: 0 };
            events.clear();
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&patience)).doing("epoll")?;
            if events.is_empty() {
                return Err(Failure::new(format!("the broker has been silent for {SILENCE_SECONDS_MAX} s")));
            }
            for event in &events {
                let (data, flags) = (event.data.u64(), event.flags);
                if data == TIMER { self.tick()? } else { self.handle(data as usize, flags)? }
            }
        }
        Ok(())
    }

    /// A socket is ready.
    fn handle(&mut self, index: usize, flags: epoll::EventFlags) -> Result<(), Failure> {
        if !(flags - epoll::EventFlags::OUT).is_empty() {
            let Engine { connections, work, bytes, outcome, .. } = self;
            let now = now_ns();
            connections[index].receive(|frame, since_ns| {
                let moved = work.answer(index, frame)?;
                *bytes += moved;
                outcome.count(moved, now.saturating_sub(since_ns));
                Ok(())
            })?;
        }
        self.fill(index)
    }

    /// Requests have become due.
    fn tick(&mut self) -> Result<(), Failure> {
        let Some(schedule) = &mut self.schedule else { return Ok(()) };
        let now = now_ns();
        while schedule.next_ns <= now {
            self.backlog[schedule.next_connection].push_back(schedule.next_ns);
            schedule.advance();
        }
        schedule.set_timer()?;
        for index in 0..self.connections.len() {
            self.fill(index)?;
        }
        Ok(())
    }

    /// Sends what the window of a connection has room for.
    fn fill(&mut self, index: usize) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        while connection.in_flight() < self.window {
            let since_ns = match self.schedule {
                None => now_ns(),
                Some(_) => match self.backlog[index].pop_front() {
                    Some(since_ns) => since_ns,
                    None => break,
                },
            };
            connection.push(self.work.request(index), since_ns);
            // At once: a request that waits for its neighbours to be made would look slow.
            if !connection.waits_to_write && !connection.send()? {
                break;
            }
        }
        let waits = !connection.send()?;
        if waits != connection.waits_to_write {
            connection.waits_to_write = waits;
            let out = if waits { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
            let data = epoll::EventData::new_u64(index as u64);
            epoll::modify(&self.epoll, &connection.stream, data, epoll::EventFlags::IN | out).doing("epoll")?;
        }
        Ok(())
    }
}

/// When the requests of an open loop are due, and a timer that says so to the ns (epoll's own counts in ms).
struct Schedule {
    next_ns: u64,
    interval_ns: f64,
    sent: u64,
    started_ns: u64,
    next_connection: usize,
    connections: usize,
    timer: OwnedFd,
}

impl Schedule {
    fn new(rate: f64, connections: usize, epoll: &OwnedFd) -> Result<Schedule, Failure> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC);
        let timer = timer.doing("a timer")?;
        let data = epoll::EventData::new_u64(TIMER);
        epoll::add(epoll, &timer, data, epoll::EventFlags::IN | epoll::EventFlags::ET).doing("epoll")?;
        let started_ns = now_ns();
        let interval_ns = SECOND_NS as f64 / rate;
        let schedule =
            Schedule { next_ns: started_ns, interval_ns, sent: 0, started_ns, next_connection: 0, connections, timer };
        schedule.set_timer()?;
        Ok(schedule)
    }

    fn advance(&mut self) {
        self.sent += 1;
        // From the start, so that rounding does not add up.
        self.next_ns = self.started_ns + (self.sent as f64 * self.interval_ns) as u64;
        self.next_connection = (self.next_connection + 1) % self.connections;
    }

    fn set_timer(&self) -> Result<(), Failure> {
        let at = Timespec { tv_sec: (self.next_ns / SECOND_NS) as i64, tv_nsec: (self.next_ns % SECOND_NS) as i64 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once).doing("a timer")?;
        Ok(())
    }
}
