/**
 * Crew: the hosts and workers of a run, each the command that a person would start, behind a line of its own.
 *
 * M1 Where one was killed, another starts in its place. One that ends by itself once it serves is a finding, and is
 *    replaced all the same, as a supervisor does; one whose start fails while nobody answers is only replaced.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ServingDocument } from "../../protocol/documents/process.ts";
import { type Child, startChild } from "./child.ts";
import { historyVariable, nameVariable, worldVariable } from "./door.ts";
import { type Proxy, startProxy } from "./proxy.ts";

export interface Member {
  readonly role: "host" | "worker";
  /** `host-1`. */
  readonly name: string;
  readonly proxy: Proxy;
  /** Of the process that is there now. */
  readonly pid: () => number | undefined;
  readonly isServing: () => boolean;
  /** SIGKILL, and another in its place after so many milliseconds, or then. False if there is none now. */
  kill(down: number | Promise<unknown>): boolean;
  /** SIGSTOP until `thaw`. False if there is none now. */
  freeze(): boolean;
  thaw(): void;
  /** Sagas in its memory. Throws if it does not answer. */
  resident(): Promise<number>;
}

/** A process stood still. */
export interface Standstill {
  readonly pid: number;
  readonly from: number;
  readonly to: number;
}

export interface Crew {
  readonly members: readonly Member[];
  readonly standstills: readonly Standstill[];
  /** Who ended by itself although it served. */
  readonly ended: readonly string[];
  /** How often a start failed. */
  readonly failedStarts: () => number;
  /** Resolves when all serve. */
  serving(): Promise<void>;
  /** SIGTERM to all, and how each ended. */
  stop(): Promise<readonly { name: string; how: string }[]>;
}

export interface CrewOptions {
  readonly hosts: number;
  readonly workers: number;
  readonly folder: string;
  readonly servers: readonly string[];
  readonly worldUrl: string;
  /** A rule of the product to be broken in hosts and workers, by its name in test/simulation/plants.ts. */
  readonly fault: string | undefined;
  /** Modules that each loads before its own code. Default: what writes its history. */
  readonly first?: readonly string[];
  /** Variables of a process's own. */
  readonly environmentOf?: (name: string) => Readonly<Record<string, string>>;
}

const replaceAfterMs = 500;

export async function startCrew(options: CrewOptions): Promise<Crew> {
  const standstills: Standstill[] = [];
  const ended: string[] = [];
  const ends: (() => Promise<{ name: string; how: string }>)[] = [];
  let failedStarts = 0;
  let stopping = false;

  async function enlist(role: Member["role"], index: number): Promise<Member> {
    const name = `${role}-${index + 1}`;
    const proxy = await startProxy(options.servers);
    let child: Child | undefined;
    let document: ServingDocument | undefined;
    let frozenAt: number | undefined;

    const launch = () => {
      if (stopping) return;
      document = undefined;
      const started = startChild({
        ...{
          name,
          folder: options.folder,
          script: "services/cli/main.ts",
          onEnd: (how) => over(started, how),
        },
        arguments: [role, "--app", "test/chaos/app.ts", "--json", "--health-port", "0"],
        environment: {
          ...{ NATS_URL: proxy.url, [worldVariable]: options.worldUrl, [nameVariable]: name },
          ...{ LOG_LEVEL: "info", CHAOS_FAULT: options.fault ?? "", [historyVariable]: options.folder },
          ...options.environmentOf?.(name),
        },
        first: [
          ...(options.first ?? ["test/chaos/record-first.ts"]),
          ...(options.fault === undefined ? [] : ["test/chaos/plant-first.ts"]),
        ],
      });
      child = started;
      started.said.then(
        (said) => {
          if (child === started) document = said as ServingDocument; // Printed by the command, and by nothing else.
        },
        () => undefined, // M1: another is started.
      );
    };
    const over = (which: Child, how: string) => {
      if (child !== which) return; // Killed here.
      child = undefined;
      if (stopping) return;
      if (document === undefined) failedStarts += 1;
      else ended.push(`${name} (${which.pid}) ended by itself: ${how}`);
      setTimeout(launch, replaceAfterMs);
    };
    const endStandstill = (signal: "SIGCONT" | "SIGKILL") => {
      if (frozenAt === undefined || child === undefined) return;
      child.process.kill(signal);
      standstills.push({ pid: child.pid, from: frozenAt, to: Date.now() });
      frozenAt = undefined;
    };
    const thaw = () => endStandstill("SIGCONT");
    const member: Member = {
      role,
      name,
      proxy,
      pid: () => child?.pid,
      isServing: () => document !== undefined,
      kill: (down) => {
        if (child === undefined) return false;
        endStandstill("SIGKILL"); // It dies without having come to itself.
        const dying = child;
        child = undefined;
        dying.process.kill("SIGKILL");
        void (typeof down === "number" ? delay(down) : down).then(launch);
        return true;
      },
      freeze: () => {
        if (child === undefined || frozenAt !== undefined) return false;
        frozenAt = Date.now();
        return child.process.kill("SIGSTOP");
      },
      thaw,
      resident: async () => {
        const text = await (await fetch(`${document?.health ?? ""}/metrics`)).text();
        return Number(/^sagamesh_sagas_resident (\S+)$/m.exec(text)?.[1] ?? Number.NaN);
      },
    };
    ends.push(async () => {
      thaw();
      child?.process.kill("SIGTERM");
      const how = (await child?.ended) ?? "was not there";
      await proxy.close();
      return { name, how };
    });
    launch();
    return member;
  }

  const roster = (role: Member["role"], count: number) =>
    Array.from({ length: count }, (_, index) => enlist(role, index));
  const members = await Promise.all([...roster("host", options.hosts), ...roster("worker", options.workers)]);
  return {
    members,
    standstills,
    ended,
    failedStarts: () => failedStarts,
    serving: async () => {
      while (!members.every((member) => member.isServing())) await delay(50);
    },
    stop: async () => {
      stopping = true;
      return Promise.all(ends.map((end) => end()));
    },
  };
}
