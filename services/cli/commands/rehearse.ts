/**
 * Rehearse: `deployments rehearse`, which tries new code on recorded sagas before any host serves it.
 */
import { MeshError } from "../../../protocol/errors.ts";
import type { RehearsalDocument, RehearsedSaga } from "../../../protocol/documents/rehearsal.ts";
import type { ReplayRunDocument } from "../../../protocol/documents/replay.ts";
import { listSagas } from "../../client/list.ts";
import { rehearse } from "../../client/rehearse.ts";
import { sampleBySeed } from "../../replay/batch-report.ts";
import { parseFailOn } from "../../replay/fail-on.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { queryHelp } from "../../views/query.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { unreadableText } from "../frame/unreadable.ts";
import { nowAndThen } from "../telling/progress-note.ts";
import { describeRehearsal } from "../telling/rehearsal-text.ts";
import { replayQuery } from "./replay.ts";
import { absoluteWords, RunWords } from "./replay-run.ts";
import { countOf } from "./replay-settings.ts";

/** Its options among those of `deployments`. */
export const rehearseOptions = {
  app: { type: "string", hint: "FILE", help: "rehearse: application file with the new definitions" },
  was: {
    type: "string",
    hint: "FILE",
    help: "rehearse: the file that they were decided by; then they also run anew, with the recorded replies",
  },
  query: { type: "string", hint: "QUERY", help: `rehearse: the sagas that are meant: ${queryHelp}` },
  sample: { type: "string", hint: "N", help: "rehearse: so many of them" },
  seed: { type: "string", hint: "TEXT", help: "rehearse: chooses the sample; 1 unless given" },
  "fail-on": {
    type: "string",
    hint: "CONDITIONS",
    multiple: true,
    help: "rehearse: exit code 1 where one holds: differs, stays or unfoldable, each with >N% for a share; with --was those of replay",
  },
} as const;

/** Those options, as they were given. */
export interface RehearseArgs {
  readonly app: string | undefined;
  readonly was: string | undefined;
  readonly query: string | undefined;
  readonly sample: string | undefined;
  readonly seed: string | undefined;
  readonly "fail-on": readonly string[] | undefined;
}

/** Throws USAGE where another action was given an option of this one. */
export function assertNotRehearsed(action: string, args: RehearseArgs): void {
  for (const name of Object.keys(rehearseOptions) as (keyof RehearseArgs)[])
    if (args[name] !== undefined)
      throw new MeshError("USAGE", `deployments ${action}: --${name} is for rehearse`);
}

/** Rehearses, and prints the report. Exit code 1 if one of the conditions holds, or a saga could not be read. */
export async function rehearseSagas(args: RehearseArgs, context: CommandContext): Promise<number> {
  const { app: file, was, query = "status=running", seed = "1" } = args;
  if (file === undefined)
    throw new MeshError("USAGE", "deployments rehearse: --app FILE is missing, the new application");
  const { own, replays } = readConditions(args["fail-on"] ?? [], was);
  const sample = countOf("sample", args.sample);
  const app = await loadApp(file);
  const { output, signal } = context;
  const rehearsed = await withMesh(context, async ({ deps, ports }) => {
    const rows = await listSagas(ports, { query }, deps.clock.now());
    const meant = rows.filter((row) => row.archived === undefined).map(({ saga }) => saga);
    if (meant.length === 0) throw new MeshError("QUERY_EMPTY", `the query "${query}" means no saga`);
    const sampled = sampleBySeed(meant, sample ?? meant.length, seed);
    const found = await rehearse(deps, app, sampled, { progress: nowAndThen(output.note), signal });
    const { unreadable } = rows;
    const unread = unreadable.length === 0 ? {} : { unreadable: [...unreadable] };
    return { query, seed, meant: meant.length, sampled: sampled.length, ...found, ...unread };
  });
  const replay =
    was === undefined
      ? undefined
      : await runAnew(context, { ...args, app: was, with: file, query, seed }, replays);
  const failedOn = [...failuresOf(own, rehearsed), ...(replay?.failedOn ?? [])];
  const document: RehearsalDocument = {
    ...rehearsed,
    ...(replay === undefined ? {} : { replay }),
    ...(failedOn.length === 0 ? {} : { failedOn }),
  };
  const { unreadable = [] } = document;
  output.print(document, () => `${describeRehearsal(document)}${unreadableText(unreadable)}`);
  return failedOn.length === 0 && unreadable.length === 0 ? 0 : 1;
}

/** The same sample: it is chosen by the same seed. */
const runAnew = (
  context: CommandContext,
  words: { app: string; with: string; query: string; seed: string; sample: string | undefined },
  failOn: readonly string[],
): Promise<ReplayRunDocument> => {
  const { app, with: other, query, seed, sample } = words;
  const asked = {
    app,
    with: other,
    query,
    seed,
    sample,
    model: "recorded",
    free: true,
    "fail-on": [...failOn],
  };
  return replayQuery(context, absoluteWords(RunWords.parse(asked)));
};

interface Condition {
  readonly verdict: RehearsedSaga["verdict"];
  readonly over: number;
  readonly text: string;
}

const verdicts = ["differs", "stays", "unfoldable"] as const;

/** What is asked of the rehearsal, and what of the replay. Throws USAGE. */
function readConditions(
  words: readonly string[],
  was: string | undefined,
): { own: readonly Condition[]; replays: readonly string[] } {
  const own: Condition[] = [];
  const replays: string[] = [];
  for (const text of words.flatMap((word) => word.split(",")).map((one) => one.trim())) {
    const [, name = "", share] = /^([a-z]+)(?:>(\d+(?:\.\d+)?)%)?$/.exec(text) ?? [];
    const verdict = verdicts.find((one) => one === name);
    if (verdict !== undefined) own.push({ verdict, over: Number(share ?? 0), text });
    else if (text !== "") replays.push(text);
  }
  const [other] = replays;
  if (other !== undefined && was === undefined)
    throw new MeshError("USAGE", `--fail-on "${other}" is none of ${verdicts.join(", ")}`, {
      remedy: "Conditions of replay need --was FILE, the application that the sagas were decided by.",
    });
  parseFailOn(replays, "free-run");
  return { own, replays };
}

const failuresOf = (
  conditions: readonly Condition[],
  { counts, sampled }: Pick<RehearsalDocument, "counts" | "sampled">,
): string[] =>
  conditions.flatMap(({ verdict, over, text }) => {
    const hit = counts[verdict];
    return hit === 0 || (100 * hit) / sampled <= over ? [] : [`${text}: ${hit} of ${sampled} sagas`];
  });
