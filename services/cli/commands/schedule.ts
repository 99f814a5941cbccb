import type { ScheduleDocument, ScheduleDoneDocument } from "../../../protocol/documents/schedule.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { msOf } from "../../../protocol/duration.ts";
import { instantOf } from "../../../protocol/instant.ts";
import { Overlap } from "../../../protocol/schedule.ts";
import { type ScheduleConfig, type Schedules, schedulesOf } from "../../client/schedules.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { parseJson } from "../frame/json.ts";
import { tellUnreadable } from "../frame/unreadable.ts";
import { describeSchedules, describeShown } from "../telling/schedule-text.ts";

const actions = [
  ...["list", "show", "create", "pause", "resume", "trigger", "backfill", "delete"],
] as const satisfies readonly string[];

interface Words {
  readonly cron: string | undefined;
  readonly tz: string | undefined;
  readonly saga: string | undefined;
  readonly version: string | undefined;
  readonly input: string | undefined;
  readonly "due-as": string | undefined;
  readonly overlap: string | undefined;
  readonly catchup: string | undefined;
  readonly jitter: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly reason: string | undefined;
}

/** Sagas that begin by themselves. */
export const schedule = defineCommand({
  name: "schedule",
  summary: "sagas that begin by themselves, at times that a cron expression names",
  details:
    "Each run is a saga whose id is the schedule's name and the time that it was due: nightly-20260301t050000z. However many hosts\n" +
    "there are, and whichever die, it begins once. A run that nobody could begin in time begins later, up to --catchup late.\n" +
    "--overlap says what happens to a run that is due while the one before it runs: `skip` passes it over, `queue` has it wait in a\n" +
    "line of at most 100, `cancel-other` cancels the other and waits for its end, `allow` begins it beside.\n" +
    "An expression that names hours and minutes runs once a day at both changes of summer time: at the first moment after a time\n" +
    "that does not exist, and at the first of one that exists twice. One with * or a step goes by what the clocks show.\n" +
    "While a schedule is paused, what falls due is passed over; trigger and backfill begin runs all the same.",
  positionals: {
    action: { help: `${actions.join(", ")}; list unless given`, optional: true, choices: actions },
    name: { help: "the schedule: 1 to 36 of a-z, 0-9 and -", optional: true },
  },
  options: {
    cron: { type: "string", hint: "EXPR", help: "minute hour day month weekday, or six with seconds first" },
    tz: {
      type: "string",
      hint: "ZONE",
      help: "whose clocks the expression means: Europe/Berlin; UTC unless given",
    },
    saga: { type: "string", hint: "NAME", help: "what the runs are sagas of" },
    version: {
      type: "string",
      hint: "N",
      help: "of that version; what new sagas begin with unless given",
    },
    input: { type: "string", hint: "JSON", json: "whole", help: "the input of each run; {} unless given" },
    "due-as": {
      type: "string",
      hint: "MEMBER",
      help: "give each run its due time as this member of its input",
    },
    overlap: { type: "string", hint: "RULE", help: `${Overlap.options.join(", ")}; skip unless given` },
    catchup: {
      type: "string",
      hint: "TIME",
      help: "how late a run may begin: 1h unless given, 2m at least",
    },
    jitter: {
      type: "string",
      hint: "TIME",
      help: "each run begins up to so much later, the same for the same run",
    },
    from: { type: "string", hint: "TIME", help: "with backfill: from this time on (ISO 8601)" },
    to: { type: "string", hint: "TIME", help: "with backfill: before this time" },
    reason: { type: "string", hint: "TEXT", help: "with pause: why" },
  },
  examples: [
    `sagamesh schedule create nightly --cron '0 6 * * *' --tz Europe/Berlin --saga report --input @f.json --overlap skip --catchup 1h --jitter 5m`,
    "sagamesh schedule show nightly",
    "sagamesh schedule backfill nightly --from 2026-03-01 --to 2026-03-08",
  ],
  run: async ({ action = "list", name, ...words }, context) => {
    const known = actions.find((one) => one === action);
    if (known === undefined)
      throw new MeshError("USAGE", `schedule: expected ${actions.join(", ")}, got "${action}"`);
    if ((known === "list") !== (name === undefined))
      throw new MeshError(
        "USAGE",
        known === "list"
          ? `schedule list: "${name}" is one word too many`
          : `schedule ${known}: its name is missing`,
      );
    const ask = asking(known, name ?? "", words);
    return withMesh(context, async ({ deps }) => ask(schedulesOf(deps), context));
  },
});

type Ask = (schedules: Schedules, context: CommandContext) => Promise<number>;

/** What is asked of the mesh; bad words are refused before one is looked for. Throws USAGE, BAD_JSON. */
function asking(action: string, name: string, words: Words): Ask {
  const done =
    (ask: (schedules: Schedules) => Promise<ScheduleDoneDocument>): Ask =>
    async (schedules, { output }) => {
      const document = await ask(schedules);
      output.print(document, () => document.run ?? `${document.name} ${document.done}`);
      return 0;
    };
  switch (action) {
    case "list":
      return list;
    case "show":
      return async (schedules, { output }) => {
        const document = await schedules.show(name);
        output.print(document, () => describeShown(document));
        return 0;
      };
    case "create": {
      const config = configOf(name, words);
      return done((schedules) => schedules.create(config));
    }
    case "pause":
      return done((schedules) => schedules.pause(name, words.reason));
    case "resume":
      return done((schedules) => schedules.resume(name));
    case "trigger":
      return done((schedules) => schedules.trigger(name));
    case "backfill": {
      const span = { from: dateOf("--from", words.from), to: dateOf("--to", words.to) };
      return done((schedules) => schedules.backfill(name, span));
    }
    default:
      return done((schedules) => schedules.delete(name));
  }
}

const list: Ask = async (schedules, { output }) => {
  const documents = await schedules.list();
  if (output.json) for (const document of documents) output.print(document, () => "");
  else output.print(undefined, () => describeSchedules(documents satisfies readonly ScheduleDocument[]));
  return tellUnreadable(output, documents.unreadable);
};

/** Throws USAGE, BAD_JSON. */
function configOf(name: string, words: Words): ScheduleConfig {
  const { cron, tz, saga, version, input, overlap, catchup, jitter } = words;
  if (cron === undefined || saga === undefined)
    throw new MeshError("USAGE", `schedule create: --${cron === undefined ? "cron" : "saga"} is missing`);
  const rule = overlap === undefined ? undefined : Overlap.safeParse(overlap);
  if (rule?.success === false)
    throw new MeshError("USAGE", `--overlap: expected ${Overlap.options.join(", ")}, got "${overlap}"`);
  if (version !== undefined && !/^\d{1,9}$/.test(version))
    throw new MeshError("USAGE", `--version: expected a whole number, got "${version}"`);
  for (const time of [catchup, jitter]) if (time !== undefined) msOf(time);
  return {
    ...{ name, cron, tz, saga, catchup, jitter },
    version: version === undefined ? undefined : Number(version),
    input: parseJson(input ?? "{}", "--input"),
    dueAs: words["due-as"],
    overlap: rule?.data,
  };
}

/** Throws USAGE. */
function dateOf(what: string, text: string | undefined): Date {
  const instant = text === undefined ? undefined : instantOf(text);
  if (instant !== undefined) return new Date(instant.at);
  throw new MeshError(
    "USAGE",
    `schedule backfill: ${what}: ${text === undefined ? "is missing" : `"${text}" is no time`}`,
    {
      remedy: "Write 2026-03-01, 2026-03-01T06:00 (UTC) or 2026-03-01T06:00+01:00.",
    },
  );
}
