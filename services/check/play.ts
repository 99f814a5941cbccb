/**
 * Play: a machine on a test mesh, with invented results in place of all that it does.
 *
 * PY1 No body, action or machine of the author's is run: each is a tool that gives what was invented for it, or a line.
 * PY2 A walk goes on until the machine ends or rests for ever; each goes where the ones before it went least.
 */
import { type AnyStateMachine, type AnyStateNode, log } from "xstate";
import { z } from "zod";
import { isOpen, type SagaState } from "../../actors/contract/state.ts";
import { defineTool, NotPerformed } from "../../actors/contract/tool.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { type Callable, callableOf } from "../../actors/machine/callable.ts";
import { nodesOf } from "../../actors/machine/snapshot.ts";
import { adoptMachine, nameFrom } from "../../actors/saga/adopt.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import type { MachineCheck, PlayedStep } from "../../protocol/documents/check.ts";
import { describeError, isMeshError } from "../../protocol/errors.ts";
import { minOf } from "../../protocol/extremes.ts";
import type { Json } from "../../protocol/json.ts";
import { defineApp } from "../app/app.ts";
import { sampleOf } from "../app/sample.ts";
import { servedDefinition } from "../views/folded.ts";
import { testMesh } from "../testing/index.ts";

/** What is invented: the input, and by their names the data of signals and the results of effects; `{}` of all others. */
export interface Invented {
  readonly input?: Json;
  readonly named: Readonly<Record<string, Json>>;
}

/** The walks, the states that none came to, and what stopped the last one. */
export type Played = Required<Pick<MachineCheck, "walks" | "unreached">> & Pick<MachineCheck, "stopped">;

const walksMax = 20;
const stepsMax = 40;
/** A walk that makes the same choice in the same states more often goes round. */
const roundsMax = 2;

/** Sends these signals in their order, or, without them, walks until no more is met. Never rejects. */
export async function play(
  machine: AnyStateMachine,
  check: MachineCheck,
  invented: Invented,
  path?: readonly string[],
): Promise<Played> {
  const playing: Playing = { machine, check, invented, states: new Set(), counts: new Map() };
  const walks: PlayedStep[][] = [];
  for (let k = 0; k < (path === undefined ? walksMax : 1); k++) {
    const met = playing.states.size + playing.counts.size;
    const steps: PlayedStep[] = [];
    try {
      await walk(playing, steps, path);
    } catch (error) {
      if (check.changes.length > 0 && isMeshError(error, "APP_INVALID"))
        return {
          walks: [],
          unreached: [],
          stopped: "what is to be changed comes first: as it is it cannot be played",
        };
      return { walks: [...walks, steps], unreached: unreachedOf(playing), stopped: describeError(error) };
    }
    if (k > 0 && playing.states.size + playing.counts.size === met) break;
    walks.push(steps);
  }
  return { walks, unreached: unreachedOf(playing) };
}

interface Playing {
  readonly machine: AnyStateMachine;
  readonly check: MachineCheck;
  readonly invented: Invented;
  /** States that a walk came to. */
  readonly states: Set<string>;
  /** How often each choice was made, by its place. */
  readonly counts: Map<string, number>;
}

/** PY2. The choice that was made least at this place, the first of several; and it is made. */
function leastOf({ counts }: Playing, place: string, choices: readonly string[]): string | undefined {
  const of = (choice: string) => counts.get(`${place} ${choice}`) ?? 0;
  const [least] = [...choices].sort((one, other) => of(one) - of(other));
  if (least !== undefined) counts.set(`${place} ${least}`, of(least) + 1);
  return least;
}

/** A state that is left as soon as it is entered is passed unseen, so it is not said of it. */
const unreachedOf = ({ machine, states }: Playing): string[] =>
  nodesOf(machine.root).flatMap(({ id, type, always }) =>
    type === "history" || states.has(id) || (always ?? []).length > 0 ? [] : [id],
  );

async function walk(
  playing: Playing,
  steps: PlayedStep[],
  path: readonly string[] | undefined,
): Promise<void> {
  const { check, invented } = playing;
  const saga = playable(playing);
  const app = defineApp({ sagas: [saga] });
  await using mesh = testMesh(app);
  const played = await mesh.start(saga, invented.input ?? objectOf(check.input), { id: "played" });
  let state: SagaState | undefined;
  let seen = 0;
  let called = 0;
  /** Folds the new turns. The states that the saga rests in; none if it has ended. */
  const see = async (sent: string): Promise<readonly AnyStateNode[]> => {
    const values: Json[] = [];
    const turns = await played.ledger();
    const definition = servedDefinition(app, turns);
    for (const { turn, at, steps: taken } of turns.slice(seen)) {
      const events = taken.map(({ event }) => event);
      ({ state } = decideTurn(definition, state, { saga: played.id, at, events }));
      seen = turn;
      for (const { id } of nodesIn(state)) playing.states.add(id);
      const { value } = state.snapshot as { value: Json };
      if (JSON.stringify(values.at(-1)) !== JSON.stringify(value)) values.push(value);
    }
    const calls = mesh.effects().slice(called);
    called += calls.length;
    const end = await played.end();
    steps.push({
      ...{ sent, states: values },
      ...(calls.length === 0
        ? {}
        : { called: calls.map(({ tool, ended }) => (ended === "threw" ? `${tool} (fails)` : tool)) }),
      ...(end === undefined
        ? {}
        : { ended: end.status === "completed" ? end.status : `${end.status}: ${end.reason}` }),
    });
    return end !== undefined || state === undefined ? [] : nodesIn(state);
  };
  const rounds = new Map<string, number>();
  let active = await see("start");
  for (let k = 0; k < (path?.length ?? stepsMax) && active.length > 0; k++) {
    const timer = nextTimer(state);
    const next = path?.[k] ?? nextOf(playing, active, timer !== undefined);
    const round = `${active.map(({ id }) => id).join(" ")} ${next ?? ""}`;
    rounds.set(round, (rounds.get(round) ?? 0) + 1);
    if (next === undefined || (path === undefined && (rounds.get(round) ?? 0) > roundsMax)) return;
    if (next === "time") await mesh.advance(timer ?? monthMs);
    else await played.signal(next, (invented.named[next] ?? objectOf(membersOf(check, next))) as never);
    active = await see(next);
  }
}

const nodesIn = ({ snapshot }: SagaState): readonly AnyStateNode[] => snapshot._nodes;

function nextOf(playing: Playing, active: readonly AnyStateNode[], isTimed: boolean): string | undefined {
  const signals = playing.check.signals.flatMap(({ name }) =>
    active.some((node) => node.transitions.has(name)) ? [name] : [],
  );
  return leastOf(playing, active.map(({ id }) => id).join(" "), [...(isTimed ? ["time"] : []), ...signals]);
}

/** Time in which the next timer fires, of `after` or of a delayed `raise`, ms; undefined if none is set. */
function nextTimer(state: SagaState | undefined): number | undefined {
  const due = Object.values(state?.open ?? {}).flatMap((open) =>
    isOpen(open, "timer") ? [open.intent.dueAt] : [],
  );
  return state === undefined || due.length === 0
    ? undefined
    : Math.max(0, minOf(due) - state.updatedAt) + 1_000;
}

const monthMs = 31 * 86_400_000;

const objectOf = (members: readonly string[]): Json =>
  Object.fromEntries(members.map((member) => [member, {}]));
const membersOf = ({ signals }: MachineCheck, name: string): readonly string[] =>
  signals.find((signal) => signal.name === name)?.members ?? [];

/** PY1. */
function playable(playing: Playing) {
  const { machine, check } = playing;
  const versions = new Map<string, number>();
  const tools = Object.entries(machine.implementations.actors as Record<string, unknown>).flatMap(
    ([name, logic]) => {
      const callable = callableOf(logic);
      if (callable?.kind === "compensation") return [];
      const tool = callable?.name ?? nameFrom(name);
      const version = (versions.get(tool) ?? 0) + 1; // Questions and models are all of one name.
      versions.set(tool, version);
      return [[name, invention(playing, name, callable, { name: tool, version })] as const];
    },
  );
  const told = check.actions.map(({ name }) => [name, log(name)] as const);
  return defineSaga({
    ...{ name: "played", version: 1, input: z.unknown(), output: z.unknown() },
    signals: Object.fromEntries(check.signals.map(({ name }) => [name, z.looseObject({})])),
    machine: adoptMachine(machine.provide({ actions: Object.fromEntries(told) } as never), {
      actors: Object.fromEntries(tools),
      delays: check.delays,
    }),
  });
}

/** A tool that gives what was named, else what its schema takes, else `{}`; and fails now and then where that is heard. */
function invention(
  playing: Playing,
  name: string,
  callable: Callable | undefined,
  called: { name: string; version: number },
) {
  const { machine, invented } = playing;
  const hears = nodesOf(machine.root).some((node) =>
    node.invoke.some(({ src, id }) => src === name && node.transitions.has(`xstate.error.actor.${id}`)),
  );
  return defineTool({
    ...{ ...called, description: "", effect: "read", input: z.unknown(), output: z.unknown() },
    perform: async () => {
      const how = leastOf(playing, `of ${name}`, hears ? ["gives", "fails"] : ["gives"]);
      if (how === "fails") throw new NotPerformed("invented", { retry: false });
      return invented.named[name] ?? (callable === undefined ? {} : sampleOf(callable.output));
    },
  });
}
