/**
 * Oracle: what must hold of a run that is over. The simulator's oracle (test/simulation/oracle.ts) judges ledgers,
 * account and inputs; here is what only real servers and processes can break.
 *
 * | promise | what is looked for beside |
 * |---|---|
 * | P2 | a letter that says anything but what the workload provoked on purpose |
 * | P3 | a turn that stood in a ledger once and does not any more; whatever `verify` finds in a ledger, or does not tell of what stands beside it |
 * | P5 | memory or un-acked inputs held although everything waits |
 * | END | a process that ended by itself, or did not end when told to |
 * | ATTACK | an attacker's input that is neither in a ledger nor a letter with a code, and what its attack says must not be |
 * | LINEAR | a ledger, a claim, an entry or an input whose history porcupine finds not linearizable, or cannot decide |
 * | BEAT | an event loop that was held by the process's own work for longer than `heldMaxMs` |
 *
 * What it leaves out, and why:
 *
 * | left out | because |
 * |---|---|
 * | a `probe` done twice where its performer was stopped around then | the outside cannot know of what has not arrived |
 * | an input that only the server's own account would show, and that died with a server before it was noted | nobody knows of it |
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { chainHash } from "../../protocol/digest.ts";
import { headers, parseInboxSubject } from "../../protocol/subjects.ts";
import { defineApp } from "../../services/app/app.ts";
import { verifyLedger } from "../../services/views/verify.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import type { StoredMessage } from "../../services/wire/ports.ts";
import { judge } from "../simulation/oracle.ts";
import { errand, journey, planner } from "../simulation/sagas.ts";
import type { StoredInput } from "../simulation/account.ts";
import type { Act } from "../simulation/world.ts";
import type { Standstill } from "./crew.ts";
import { type Evidence, isAttackers } from "./evidence.ts";
import type { Violation } from "./violation.ts";

/** For folding: nothing is performed. */
const app = defineApp({ sagas: [journey, errand, planner] });

/** All that does not hold. */
export async function judgeEvidence(evidence: Evidence): Promise<Violation[]> {
  const { seed, started, ledgers, broken, inputs, busy, mistakes, dead, acts, asked, standstills } = evidence;
  return [
    ...judge({
      ...{ seed, sagas: started, ledgers, broken, inputs, dead, acts, asked, mistakes, busy },
      ...{ rested: busy.length === 0, open: { inbox: 0, work: 0 }, pools: undefined, hops: new Map() },
      stoodStill: (act) => standstills.some((one) => concerns(one, act)),
    }),
    ...(await verified(evidence)),
    ...vanished(evidence),
    ...letters(evidence),
    ...evidence.holdings.map((what) => ({ promise: "P5", what })),
    ...evidence.ended.map((what) => ({ promise: "END", what })),
    ...attacked(evidence),
    ...unlinear(evidence),
    ...held(evidence),
  ];
}

/** What attackers sent is told or taken, as everybody's; of results and timers what is known or nobody's is not kept. */
function attacked({ attacked: { inputs, dead }, struck, ledgers }: Evidence): Violation[] {
  const setAside = new Set(dead.map(({ headers: fields }) => fields[headers.origin]));
  const lost = inputs.filter((input) => {
    const tokens = input.subject.split(".");
    const turns = ledgers.get(tokens[2] as SagaId) ?? [];
    if (setAside.has(`${input.subject}#${input.seq}`)) return false;
    if (tokens[3] === "start") return turns.length === 0;
    return (tokens[3] === "signal" || tokens[3] === "task") && !isRecorded(turns, input);
  });
  const uncoded = dead.filter(
    (letter) =>
      letter.headers[headers.origin] !== undefined && ["no code", "INTERNAL"].includes(codeOf(letter)),
  );
  return [
    ...lost.map(({ subject, seq }) => ({ promise: "ATTACK", what: `lost: ${subject}#${seq}` })),
    ...uncoded.map(({ headers: fields }) => ({
      promise: "ATTACK",
      what: `without a code: ${fields[headers.origin] ?? ""}: ${fields[headers.reason] ?? ""}`,
    })),
    ...struck.flatMap(({ attack, facts, failures }) => [
      ...failures.map((what) => ({ promise: "ATTACK", what: `could not strike: ${what}` })),
      ...(attack.expects?.(facts) ?? []),
    ]),
  ];
}

const isRecorded = (turns: readonly StoredTurn[], input: StoredInput): boolean => {
  const ids = [input.headers[headers.event], input.msgId, `inbox-${input.seq}`];
  return turns.some(({ turn }) => turn.steps.some(({ event }) => "id" in event && ids.includes(event.id)));
};

function unlinear({ linearity }: Evidence): Violation[] {
  if (!("objects" in linearity)) return []; // The report says that nobody was asked.
  return [
    ...linearity.broken.map(({ object, history }) => ({
      promise: "LINEAR",
      what: `${object}:\n    ${history.join("\n    ")}`,
    })),
    ...linearity.undecided.map((object) => ({ promise: "LINEAR", what: `${object}: not decided in time` })),
  ];
}

/** A host gives up what it holds after seconds; while it starts, it compiles what it loads. */
const heldMaxMs = 2_000;

const held = ({ beats }: Evidence): Violation[] =>
  [...beats].flatMap(([name, all]) =>
    all.flatMap(({ at, heldMs }) =>
      heldMs <= heldMaxMs
        ? []
        : [
            {
              promise: "BEAT",
              what: `${name} held its event loop for ${heldMs} ms until ${new Date(at).toISOString()}`,
            },
          ],
    ),
  );

/** From before it could claim to when the outside heard of it. */
const performingMs = 6_000;
/** Whether the process that did it stood still around then. */
export const concerns = ({ pid, from, to }: Standstill, { by, at, sentAt }: Act): boolean =>
  by.endsWith(`#${pid}`) && to >= sentAt - performingMs && from <= at;

/** A ledger is whole without what attackers put beside it; with it, `verify` tells of each of those and of nothing else. */
async function verified({ messages, ledgers, blobs }: Evidence): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const [saga, stored] of messages) {
    const said = (what: string) => violations.push({ promise: "P3", what: `verify: ${saga} ${what}` });
    const own = stored.filter((message) => !isAttackers(message));
    if (own.length === 0) continue;
    const verify = (list: readonly StoredMessage[]) =>
      verifyLedger({ ledger: ledgerOf(list), blobs }, saga, app);
    for (const { turn, code, what } of (await verify(own)).findings)
      said(`turn ${turn}: ${code} ${what.slice(0, 400)}`);
    if (own.length === stored.length) continue;
    const { findings, turns, foreign } = await verify(stored);
    const linked = ledgers.get(saga)?.length ?? 0;
    const told = turns - linked + (foreign?.count ?? 0);
    if (told !== stored.length - own.length)
      said(`tells of ${told} messages that are no turns, and there are ${stored.length - own.length}`);
    for (const { turn, code, what } of findings)
      if (turn <= linked) said(`turn ${turn}, beside what is no turn: ${code} ${what.slice(0, 400)}`);
  }
  return violations;
}

const ledgerOf = (stored: readonly StoredMessage[]) => ({
  last: async () => stored.at(-1),
  read: async () => [...stored],
});

function vanished({ seen, messages }: Evidence): Violation[] {
  const there = new Map<string, string>();
  for (const [saga, stored] of messages)
    for (const { seq, data } of stored) there.set(`${saga} ${seq}`, chainHash(data));
  return seen.flatMap(({ saga, seq, hash }) =>
    there.get(`${saga} ${seq}`) === hash
      ? []
      : [{ promise: "P3", what: `vanished: the turn of ${saga} that was stored at ${seq}` }],
  );
}

/**
 * What every workload provokes: a start under an id that is another input's already, and signals and votes that come when
 * the saga has ended or the task is over, and nonsense of a tool that comes when its attempt was in doubt already. They are
 * told by the ledger.
 */
function isProvoked(letter: StoredMessage, turns: readonly StoredTurn[]): boolean {
  const address = parseInboxSubject((letter.headers[headers.origin] ?? "").split("#")[0] ?? "");
  const ended = turns.find(({ turn }) =>
    turn.steps.some(({ intents }) => intents.some(({ kind }) => kind === "end")),
  );
  switch (codeOf(letter)) {
    case "SAGA_ID_TAKEN":
      return address.kind === "start" && turns.length > 0;
    case "SAGA_ENDED":
      return address.kind === "signal" && ended !== undefined && ended.storedAt <= letter.storedAt;
    case "TASK_OVER":
      return address.kind === "task";
    case "BAD_RESULT":
      return address.kind === "result" && doubtedBefore(turns, address.intent, letter.storedAt);
    default:
      return false;
  }
}

const doubtedBefore = (turns: readonly StoredTurn[], intent: IntentId, before: number): boolean =>
  turns.some(
    ({ storedAt, turn }) =>
      storedAt <= before &&
      turn.steps.some(({ closed }) => closed.some((one) => one.intent === intent && one.as === "in_doubt")),
  );

export const codeOf = ({ headers: fields }: StoredMessage): string =>
  /\[(\w+)\]/.exec(fields[headers.reason] ?? "")?.[1] ?? "no code";

function letters({ dead, ledgers }: Evidence): Violation[] {
  return dead
    .filter((letter) => !isProvoked(letter, ledgers.get(letter.subject.split(".")[2] as SagaId) ?? []))
    .map(({ subject, headers: fields }) => ({
      promise: "P2",
      what: `set aside: ${subject} ${fields[headers.origin] ?? ""}: ${fields[headers.reason] ?? ""}`,
    }));
}
