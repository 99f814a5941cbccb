/**
 * Those outside who answer in their own time: the ones a deferred call was handed to, and the people whose
 * tasks are open. Both speak to the mesh by a process of their own, whose calls suffer as any other's.
 *
 * U1 Whoever outside has taken a deferred call answers each time it was handed over, twice now and then.
 * U2 People tell the truth about a doubt: that it happened once they see it, that it did not only once nothing
 *    can be on its way any more.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import type { Turn } from "../../protocol/turn.ts";
import { type SeededChance, seededChance } from "../../services/memory/faults.ts";
import { patiently } from "../../services/wire/patience.ts";
import { parseSettlementToken } from "../../services/wire/settlement-token.ts";
import type { Speaker, SpeakingMesh } from "./speaking.ts";
import type { Asked, World } from "./world.ts";

export interface Outside {
  /** A deferred call is handed over; the answer follows at the callback. */
  take(asked: Asked, callbackUrl: string): void;
  /** People look at what a ledger has taken in. */
  read(saga: SagaId, turn: Turn): void;
  isQuiet(): boolean;
}

export interface OutsideOptions {
  readonly mesh: SpeakingMesh;
  readonly seed: number;
  readonly world: World;
  /** From when on nothing of an effect is on its way any more, of which a doubt arose at a time. */
  readonly settledAt: (doubtAt: number) => number;
}

const answerMs = { min: 5, max: 2_500 };
const slowAnswerMs = { min: 2_500, max: 10_000 };
const lookAgainMs = 1_000;

export function createOutside({ mesh, seed, world, settledAt }: OutsideOptions): Outside {
  const chance = seededChance(seed, "outside");
  const process = mesh.spawn("outside");
  let busy = 0;
  const later = (ms: number, act: () => Promise<void>) => {
    busy += 1;
    mesh.clock.at(mesh.clock.now() + ms, () => void act().finally(() => (busy -= 1)));
  };

  const answer = async (asked: Asked, callbackUrl: string): Promise<void> => {
    const { saga, intent } = parseSettlementToken(callbackUrl);
    const body = answerTo(asked);
    const id = chance.nonce();
    for (let times = chance.happens(0.15) ? 2 : 1; times > 0; times--)
      await say(process, subjects.result(saga, intent), body, `${saga}:settle:${id}-${times}`);
  };
  const answerTo = (asked: Asked): object => {
    const { key, effect } = asked;
    const isNew = world.found(key) === undefined;
    if (isNew && drawn(key, "is busy", 0.2) && !busyOnce.has(key)) {
      busyOnce.add(key);
      return { outcome: "failed", code: "NOT_PERFORMED", reason: "busy" };
    }
    // What is not wanted any more is left alone, but not always: it may be too late for that.
    const isWithdrawn =
      isNew && world.isUndone(key) && !(effect === "once" && drawn(key, "cannot stop", 0.5));
    if (isWithdrawn || (isNew && drawn(key, "refuses", 0.15)))
      return { outcome: "failed", code: "NOT_PERFORMED", reason: "not to be had", retry: false };
    return { outcome: "succeeded", output: world.act(asked) };
  };
  const busyOnce = new Set<string>();
  /** The same answer for the same key, however often it is asked. */
  const drawn = (key: string, what: string, probability: number) =>
    seededChance(seed, `${what} ${key}`).happens(probability);

  const people = createPeople({ process, chance, world, later, now: mesh.clock.now, settledAt });
  return {
    take: (asked, callbackUrl) => {
      const { min, max } = chance.happens(0.25) ? slowAnswerMs : answerMs;
      later(chance.between(min, max), () => answer(asked, callbackUrl));
    },
    read: people,
    isQuiet: () => busy === 0,
  };
}

async function say(
  process: Speaker,
  subject: string,
  body: unknown,
  msgId: string,
  event?: string,
): Promise<void> {
  const fields = { ...(event === undefined ? {} : { [headers.event]: event }) };
  const message = { subject, data: Buffer.from(JSON.stringify(body)), headers: fields, msgId };
  await patiently(process.clock, () => process.ports.inbox.publish(message), {
    patienceMs: Number.POSITIVE_INFINITY,
  });
}

interface PeopleParts {
  readonly process: Speaker;
  readonly chance: SeededChance;
  readonly world: World;
  readonly later: (ms: number, act: () => Promise<void>) => void;
  readonly now: () => number;
  readonly settledAt: OutsideOptions["settledAt"];
}

function createPeople({ process, chance, world, later, now, settledAt }: PeopleParts) {
  const keys = new Map<string, string>();
  const vote = (saga: SagaId, intent: IntentId, by: string, said: object) => {
    const id = `${intent}-by-${by}`;
    return say(process, subjects.task(saga, intent), { by, ...said }, `${saga}:task:${id}`, id);
  };
  const soon = () => chance.between(5, 1_500);

  const takeUp = (saga: SagaId, task: IntentOf<"task">) => {
    switch (task.about) {
      case "question":
        return later(soon(), () => vote(saga, task.id, "ann", { as: "desk", vote: "answer", answer: true }));
      case "approval": {
        const denied = chance.happens(0.2);
        for (const by of ["ann", "bob"])
          later(soon(), () =>
            vote(saga, task.id, by, { as: "finance", vote: denied && by === "bob" ? "deny" : "approve" }),
          );
        return;
      }
      case "stuck":
      case "budget":
        return later(soon(), () => vote(saga, task.id, "ann", { vote: "deny" }));
      case "doubt":
        return judge(saga, task, now());
    }
  };
  /** U2. */
  const judge = (saga: SagaId, task: IntentOf<"task">, doubtAt: number) =>
    later(lookAgainMs, async () => {
      const output = world.found(keys.get(`${saga}/${task.of ?? ""}`) ?? "");
      if (output !== undefined && chance.happens(0.7))
        return vote(saga, task.id, "ann", { vote: "answer", answer: { outcome: "happened", output } });
      if (output === undefined && now() >= settledAt(doubtAt))
        return vote(saga, task.id, "ann", { vote: "answer", answer: { outcome: "did_not_happen" } });
      judge(saga, task, doubtAt);
      return;
    });

  return (saga: SagaId, turn: Turn): void => {
    for (const { intents } of turn.steps)
      for (const intent of intents) {
        if (intent.kind === "tool") keys.set(`${saga}/${intent.id}`, intent.key);
        if (intent.kind === "task") takeUp(saga, intent);
      }
  };
}
