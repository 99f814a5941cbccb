/**
 * Stage: the processes of one run. Two hosts and a worker, the outside world beside them, and another process in
 * the place of each that was killed.
 */
import { join } from "node:path";
import { MeshError } from "../../protocol/errors.ts";
import type { PlannedKill } from "./kill-plan.ts";
import type { Strike, ToDemo } from "./letters.ts";
import { createProcesses, type Member } from "./processes.ts";
import { type Story, windowInWords } from "./story.ts";

export interface StageOptions {
  /** Of the account and the logs. */
  readonly folder: string;
  /** The server's address. */
  readonly url: string;
  readonly plan: readonly PlannedKill[];
  readonly story: Story;
  /** A real model's name and key. */
  readonly model: string | undefined;
  readonly apiKey: string | undefined;
}

export interface Stage {
  /** Starts everything and resolves when it serves. Throws UNAVAILABLE. */
  enter(): Promise<void>;
  /** The kills so far. */
  readonly strikes: readonly Strike[];
  /** The incarnation that a strike ended. */
  incarnationOf(this: void, strike: Strike): string;
  /** What the story calls an incarnation. */
  nameOf(this: void, incarnation: string): string;
  /** Aborted when a process could not be started again, or the outside world is gone. */
  readonly failed: AbortSignal;
  /** Ends every process. */
  close(): Promise<void>;
}

const meshSize = { host: 2, worker: 1 } as const;

export const accountFile = (folder: string): string => join(folder, "account.jsonl");

export function openStage({ folder, url, plan, story, model, apiKey = "" }: StageOptions): Stage {
  const members: Member[] = [];
  const strikes: Strike[] = [];
  const counts: Record<string, number> = {};
  const failed = new AbortController();
  let world: Member | undefined;
  const processes = createProcesses({ logFolder: folder, onLetter: hear, onDeath: replace });

  function hear(letter: ToDemo): void {
    if (letter.type !== "struck") return;
    strikes.push(letter);
    const { kill, pid } = letter;
    const name = members.find((member) => member.pid === pid)?.name ?? kill.role;
    story.tell(
      `✗ KILLED ${name} (process ${pid}, SIGKILL) during ${kill.tool} (${kill.effect}), ${windowInWords[kill.window]}`,
    );
  }

  /** Starts a process of the mesh; the outside world may kill it from now on. */
  function enlist(role: string): Member {
    const count = (counts[role] = (counts[role] ?? 0) + 1);
    const environment = {
      NATS_URL: url,
      SAGAMESH_DEMO_WORLD: world?.url() ?? "",
      ...(model === undefined ? {} : { SAGAMESH_DEMO_MODEL: model, ANTHROPIC_API_KEY: apiKey }),
    };
    const member = processes.start({
      role,
      name: `${role} ${count}`,
      file: "process",
      arguments: [role],
      environment,
    });
    members.push(member);
    world?.tell({ type: "mark", pid: member.pid });
    return member;
  }

  /** Where one was killed, another starts. One that ends by itself is a fault of the demo's. */
  function replace(dead: Member, signal: NodeJS.Signals | null): void {
    if (signal !== "SIGKILL" || dead === world)
      return failed.abort(
        new MeshError("UNAVAILABLE", `${dead.name} has ended by itself`, { remedy: "--data keeps its log." }),
      );
    const member = enlist(dead.role);
    member.ready.then(
      () => story.tell(`${member.name} (process ${member.pid}) serves in the place of ${dead.name}`),
      () => undefined, // It was killed in turn, and replaced.
    );
  }

  return {
    enter: async () => {
      const environment = { NATS_URL: url };
      world = processes.start({
        role: "world",
        name: "outside world",
        file: "world",
        arguments: [accountFile(folder)],
        environment,
      });
      await world.ready;
      world.tell({ type: "arm", kills: plan });
      const roles = Object.entries(meshSize).flatMap(([role, size]) =>
        Array.from({ length: size }, () => role),
      );
      const started = roles.map(enlist);
      await Promise.all(started.map((member) => member.ready));
      story.tell(`processes: ${[...started, world].map(({ name, pid }) => `${name} (${pid})`).join(", ")}`);
    },
    strikes,
    incarnationOf: ({ pid }) => members.find((member) => member.pid === pid)?.incarnation() ?? "",
    nameOf: (incarnation) =>
      members.find((member) => member.incarnation() === incarnation)?.name ??
      (incarnation === "outside" ? "the outside world" : incarnation),
    failed: failed.signal,
    close: () => processes.stop(),
  };
}
