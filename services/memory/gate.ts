/**
 * The gate of one process: everything it says to the server and hears from it goes through here, its waiting
 * too. So this is where a process can be stopped, and where a call can go wrong.
 *
 * Owns: whether a process lives, how long a call takes, and what becomes of it. Does not own: what the server
 * does (server.ts) and how often something goes wrong (faults.ts).
 *
 * GA1 Nothing of a crashed process comes back: no call resolves or rejects, no sleep ends, no delivery is
 *     taken, no lease is prolonged. What was on its way to the server still happens.
 * GA2 A paused process misses nothing but time: what reaches it meanwhile is taken in that order when it goes on.
 * GA3 Requests of one process arrive in the order they were sent, as on one connection. One that is sent late by
 *     a fault is the exception; it comes from a connection that is gone.
 * GA4 A call that fails by a fault says UNAVAILABLE, and nothing about whether it happened.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Clock } from "../wire/ports.ts";
import { sleepUntil, type VirtualClock } from "./clock.ts";
import type { Fate, Weather } from "./faults.ts";
import type { Act, Outcome } from "./reply.ts";

/** Told of each call of the process: before it is sent, and when its answer is there but not yet taken. */
export type CallListener = (port: string, method: string, when: "before" | "after") => void;

export interface ProcessGate {
  readonly name: string;
  /** The process's clock: its sleeps end only while it runs. */
  readonly clock: Clock;
  state(): "running" | "paused" | "crashed";
  /** Ends the process where it stands, for good. Its successor needs a gate of its own. */
  crash(): void;
  /** The process stands still until `resume`, and cannot know. */
  pause(): void;
  resume(): void;
  /** For so long nothing gets through, in either direction; calls answer UNAVAILABLE. */
  cut(ms: number): void;
  /** How often that was. */
  cuts(): number;
  /**
   * Listens to the process's calls; returns the end of listening. A listener may crash the process: called
   * "before", the call is not sent; "after", it has happened and the process does not learn of it.
   */
  onCall(listener: CallListener): () => void;
  /** Calls that have no answer yet. */
  openCalls(): number;
  /** A call of the server, or of anything else outside that may fail as a server does. */
  request<T>(port: string, method: string, act: Act<T>, options?: { mayRepeat?: boolean }): Promise<T>;
  /** A word without an answer, best effort. */
  post(act: () => void): void;
  /**
   * Something reaches the process, in the order of these calls, unless it is cut off when it comes. What may
   * overtake does so by a fault.
   */
  reach(act: () => void, options?: { mayOvertake?: boolean }): void;
  /** Runs within the process: now, when it goes on, or never. */
  enter(act: () => void): void;
  /** Calls back when a cut is over; `end` is called if the process crashes. Returns the end of both. */
  attach(link: { wake(): void; end(): void }): () => void;
  /** False while it is cut off, and once it is dead. */
  readonly isReachable: () => boolean;
}

export interface GateOptions {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly weather: Weather;
  /** Added to what the process takes for the time. */
  readonly skewMs?: number;
  readonly trace?: Trace;
}

/** Told of everything that happens to a process: the line of a run, to compare two or to look for a fault. */
export type Trace = (at: number, process: string, what: string) => void;

/** How long a way takes, and what a fault makes of it, milliseconds. */
const ways = {
  request: { min: 1, max: 2 },
  answer: { min: 0, max: 1 },
  silence: { min: 2, max: 60 },
  longSilence: { min: 500, max: 5_000 },
  late: { min: 5, max: 400 },
  cut: { min: 20, max: 4_000 },
  pause: { min: 10, max: 8_000 },
} as const;
/** Of the calls that get no answer, so many hear of it only by the client's deadline. */
const longSilenceShare = 0.1;

export function createGate(options: GateOptions): ProcessGate {
  const { name, clock, weather } = options;
  const life = createLife(options);
  const { enter, isCut } = life;
  const listeners = new Set<CallListener>();
  let lastArrivalAt = 0;
  let lastReachAt = 0;

  const drawn = drawnBy(weather);
  const arrivalAt = () => (lastArrivalAt = Math.max(lastArrivalAt, clock.now() + drawn("request"))); // GA3
  const announce: CallListener = (...call) => {
    for (const listener of listeners) listener(...call);
  };
  const send = <T>(call: Call<T>): void => sendCall({ ...options, life, announce, arrivalAt }, call);

  return {
    name,
    clock: clockOf(options, enter),
    state: life.state,
    crash: life.crash,
    pause: life.pause,
    resume: life.resume,
    cut: life.cut,
    cuts: life.cuts,
    onCall: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    openCalls: () => life.openCalls,
    request: (port, method, act, { mayRepeat = false } = {}) =>
      new Promise((resolve, reject) => {
        if (life.state() === "crashed") return;
        life.openCalls += 1;
        enter(() => send({ port, method, act, mayRepeat, resolve, reject }));
      }),
    post: (act) => {
      if (life.state() !== "running" || isCut() || weather.happens("lostDelivery")) return;
      clock.quietlyAt(arrivalAt(), act);
    },
    reach: (act, { mayOvertake = false } = {}) => {
      const onTimeAt = clock.now() + drawn("request");
      const isLate = mayOvertake && weather.happens("reordered");
      const reachAt = isLate ? onTimeAt + drawn("late") : (lastReachAt = Math.max(lastReachAt, onTimeAt));
      clock.at(reachAt, () => isCut() || enter(act));
    },
    enter,
    attach: life.attach,
    isReachable: () => life.state() !== "crashed" && !isCut(),
  };
}

const drawnBy =
  ({ chance }: Weather) =>
  (way: keyof typeof ways): number =>
    chance.between(ways[way].min, ways[way].max);

/** Whether the process runs, stands still or is dead, and whether it is cut off. */
interface Life extends Pick<
  ProcessGate,
  "state" | "crash" | "pause" | "resume" | "cut" | "cuts" | "enter" | "attach"
> {
  readonly isCut: () => boolean;
  /** Stands still for so long, if it runs. */
  readonly pauseFor: (ms: number) => void;
  readonly tell: (what: string) => void;
  openCalls: number;
}

function createLife({ name, clock, trace }: GateOptions): Life {
  const links = new Set<{ wake(): void; end(): void }>();
  let state: "running" | "paused" | "crashed" = "running";
  let backlog: (() => void)[] = [];
  let cutUntil = 0;
  let cuts = 0;

  const tell = (what: string) => trace?.(clock.now(), name, what);
  const isCut = () => clock.now() < cutUntil;
  const enter = (act: () => void) => {
    if (state === "running") act();
    else if (state === "paused") backlog.push(act); // GA2
  };
  const pause = () => {
    if (state !== "running") return;
    state = "paused";
    tell("paused");
  };
  const resume = () => {
    if (state !== "paused") return;
    state = "running";
    tell("resumed");
    const missed = backlog;
    backlog = [];
    for (const act of missed) clock.at(clock.now(), () => enter(act));
  };
  const life: Life = {
    openCalls: 0,
    state: () => state,
    isCut,
    tell,
    enter,
    pause,
    resume,
    pauseFor: (ms) => {
      if (state !== "running") return;
      pause();
      clock.at(clock.now() + ms, resume);
    },
    crash: () => {
      if (state === "crashed") return;
      state = "crashed";
      tell("crashed");
      backlog = [];
      life.openCalls = 0;
      for (const link of links) link.end();
      links.clear();
    },
    cut: (ms) => {
      cutUntil = Math.max(cutUntil, clock.now() + ms);
      cuts++;
      tell(`cut for ${ms} ms`);
      clock.quietlyAt(cutUntil, () => {
        if (!isCut()) for (const link of links) link.wake();
      });
    },
    cuts: () => cuts,
    attach: (link) => {
      if (state === "crashed") return () => {};
      links.add(link);
      return () => void links.delete(link);
    },
  };
  return life;
}

/** The process's clock: what falls due within it waits while it stands still. */
const clockOf = ({ clock, skewMs = 0 }: GateOptions, enter: ProcessGate["enter"]): Clock => ({
  now: () => clock.now() + skewMs,
  elapsed: () => clock.elapsed(),
  sleep: (ms, signal) => sleepUntil((fire) => clock.at(clock.now() + Math.max(0, ms), fire), signal, enter),
  after: (ms, fire) => {
    let isOff = false;
    const cancel = clock.at(clock.now() + Math.max(0, ms), () => enter(() => isOff || fire()));
    return () => {
      isOff = true; // It may be due already, in a process that stands still.
      cancel();
    };
  },
});

interface Sending extends GateOptions {
  readonly life: Life;
  readonly announce: CallListener;
  readonly arrivalAt: () => number;
}

/** Sends a call, with what goes wrong before and on the way. */
function sendCall<T>(sending: Sending, call: Call<T>): void {
  const { clock, weather, life, announce, arrivalAt } = sending;
  const { port, method, act, mayRepeat } = call;
  announce(port, method, "before");
  if (life.state() === "crashed") return;
  const drawn = drawnBy(weather);
  if (weather.happens("cutRate")) life.cut(drawn("cut"));
  if (weather.happens("pauseRate")) life.pauseFor(drawn("pause"));
  const fate = withoutRepeat(weather.fate(), mayRepeat);
  life.tell(`${port}.${method}${fate === "served" ? "" : ` ${fate}`}`);
  const arriveAt = arrivalAt();
  let isAnswered = false;
  const answer = (outcome: Outcome<T>, afterMs: number) => {
    if (isAnswered) return;
    isAnswered = true;
    clock.at(clock.now() + afterMs, () => life.enter(() => settleCall(sending, call, outcome)));
  };
  const silenceMs = () => drawn(weather.chance.happens(longSilenceShare) ? "longSilence" : "silence");
  const silence = () => answer({ error: unanswered(port, method) }, silenceMs());
  const arrive = () => {
    if (life.isCut()) return silence();
    act((outcome) => (life.isCut() ? silence() : answer(outcome, drawn("answer"))));
  };
  if (fate === "lostRequest") return silence();
  if (fate === "lostAnswer") {
    silence(); // before it is known whether it happens, so it may be sent again while it is in flight
    clock.quietlyAt(arriveAt, () => life.isCut() || act(() => {}));
  } else if (fate === "delayed") {
    const silentMs = silenceMs();
    answer({ error: unanswered(port, method) }, silentMs);
    clock.quietlyAt(clock.now() + silentMs + drawn("late"), () => act(() => {}));
  } else {
    clock.quietlyAt(arriveAt, arrive);
    if (fate === "duplicated") clock.quietlyAt(arriveAt + drawn("late"), () => act(() => {}));
  }
}

function settleCall<T>({ life, announce }: Sending, call: Call<T>, outcome: Outcome<T>): void {
  const { port, method, resolve, reject } = call;
  announce(port, method, "after");
  if (life.state() === "crashed") return; // GA1
  life.openCalls -= 1;
  if ("value" in outcome) return resolve(outcome.value);
  life.tell(`${port}.${method} ${outcome.error.code}`);
  reject(outcome.error);
}

interface Call<T> {
  readonly port: string;
  readonly method: string;
  readonly act: Act<T>;
  readonly mayRepeat: boolean;
  readonly resolve: (value: T) => void;
  readonly reject: (error: MeshError) => void;
}

const withoutRepeat = (fate: Fate, mayRepeat: boolean): Fate =>
  fate === "duplicated" && !mayRepeat ? "served" : fate;

const unanswered = (port: string, method: string): MeshError =>
  new MeshError("UNAVAILABLE", `${port}.${method}: the server did not answer`); // GA4
