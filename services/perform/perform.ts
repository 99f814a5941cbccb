/**
 * Perform: ⑤ one attempt of one tool intent, by the process that has the body: a worker, or the saga's own host.
 *
 * PF1 A `once` or `probe` attempt is performed only by the holder of its claim.
 * PF2 A `probe` takeover asks the outside first, after the former holder's time.
 */
import { z } from "zod";
import type { AnyBody, PerformContext, ProbeAnswer, Tool } from "../../actors/contract/tool.ts";
import type { Json } from "../../protocol/json.ts";
import { type Call, claimAttempt, type ClaimDeps, claimNext } from "./claim.ts";
import { type CallbackUrlOf, settlementToken } from "../wire/settlement-token.ts";
import type { CutOff } from "./cut-off.ts";
import { onBehalfOf } from "./on-behalf.ts";
import { DeferredCall, failed, inDoubt, type Performed, succeeded, thrown } from "./outcome.ts";

/** Which attempt of which intent, and what it is given. */
export interface Attempt extends Call {
  readonly input: Json;
  readonly traceparent?: () => string | undefined; // Few bodies ask for it, and it is two hashes.
}

/** What every attempt is performed with. */
export interface PerformDeps extends ClaimDeps {
  /** Base of callback URLs; a bare token where there is no door to call. */
  readonly callbackBase: string;
  /** Makes callback URLs in place of the base. */
  readonly callbackUrlOf?: CallbackUrlOf | undefined;
  readonly progress: (attempt: Attempt, note: unknown) => void;
}

/**
 * Performs an attempt. `cutOff` ends it early; `mayBegin` is asked last, right before the body is called: a
 * host that lost the saga starts nothing more. Never throws, except what aborting a wait for a claim throws.
 */
export async function perform(
  deps: PerformDeps,
  tool: Tool,
  body: AnyBody,
  attempt: Attempt,
  { cutOff, mayBegin = () => true }: { cutOff: CutOff; mayBegin?: () => boolean },
): Promise<Performed> {
  const parsed = tool.input.safeParse(attempt.input);
  if (!parsed.success) return failed("CALL_INVALID", z.prettifyError(parsed.error), false);
  const request = () => ({ ...attempt, timeoutMs: tool.timeoutMs, signal: cutOff.signal });
  const run = { deps, tool, body, attempt, input: parsed.data, cutOff, mayBegin };
  switch (tool.effect) {
    case "once": {
      const claim = await claimAttempt(deps, attempt.attempt, request());
      if (claim.type !== "won") return inDoubt("IN_DOUBT", "its performer did not report how it ended");
      const performed = await runBody(run, claim.actUntil, false);
      // No other may perform this attempt, so what is not begun here did not happen.
      return performed.type === "silent" ? failed("NOT_PERFORMED", "it was not begun", true) : performed;
    }
    case "probe": {
      const claim = await claimNext(deps, request());
      if (claim === undefined) return inDoubt("IN_DOUBT", "its saga asks for it no more");
      return runBody(run, claim.actUntil, !claim.isFirst || attempt.attempt > 1);
    }
    case "read":
    case "idempotent":
      return runBody(run, deps.clock.elapsed() + tool.timeoutMs, false);
  }
}

/** PF2. Undefined if it did not happen; else what the outside says of it. */
async function askOutside(
  tool: Tool,
  body: AnyBody,
  key: string,
  input: unknown,
): Promise<Performed | undefined> {
  if (body.probe === undefined) return inDoubt("IN_DOUBT", "the tool has no probe here");
  const probed: ProbeAnswer<unknown> = await body.probe(key, input);
  if (probed.outcome === "happened") return succeeded(tool, probed.output);
  return probed.outcome === "unknown" ? inDoubt("IN_DOUBT", "the outside does not know") : undefined;
}

interface Run {
  readonly deps: PerformDeps;
  readonly tool: Tool;
  readonly body: AnyBody;
  readonly attempt: Attempt;
  readonly input: unknown;
  readonly cutOff: CutOff;
  readonly mayBegin: () => boolean;
}

/** Asks the outside first where told to, and calls the body, all of it until the time given. */
async function runBody(
  { deps, tool, body, attempt, input, cutOff, mayBegin }: Run,
  actUntil: number,
  asksFirst: boolean,
): Promise<Performed> {
  const restMs = actUntil - deps.clock.elapsed();
  if (restMs <= 0)
    return tool.effect === "once"
      ? { type: "silent" }
      : failed("TOOL_TIMEOUT", "its claim was answered too late", true);
  let timedOut = false;
  const context: PerformContext = {
    key: attempt.key,
    attempt: attempt.attempt,
    get traceparent() {
      return attempt.traceparent?.();
    },
    get abort() {
      return cutOff.signal;
    },
    get callbackUrl() {
      const { saga, intent } = attempt;
      return deps.callbackUrlOf?.(saga, intent) ?? `${deps.callbackBase}${settlementToken(saga, intent)}`;
    },
    progress: (note) => tellQuietly(deps, attempt, note),
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- no failure: it leaves the body as one does
    defer: ({ withinMs }) => Promise.reject(new DeferredCall(withinMs)),
  };
  const act = async (): Promise<Performed> => {
    const asked = asksFirst ? await askOutside(tool, body, attempt.key, input) : undefined;
    if (asked !== undefined) return asked;
    if (cutOff.isCut || !mayBegin()) return { type: "silent" };
    return succeeded(tool, await body.perform(input, context));
  };
  const callOff = deps.clock.after(restMs, () => {
    timedOut = !cutOff.isCut;
    cutOff.cut(new Error(`no end within ${tool.timeoutMs} ms${body.whyLate?.() ?? ""}`));
  });
  try {
    // The body's end, or the cut's, whichever comes first: a body may not heed its signal.
    return await new Promise<Performed>((resolve, refuse) => {
      cutOff.onCut = refuse;
      onBehalfOf({ ...attempt, tool: tool.name }, act).then(resolve, refuse);
    });
  } catch (error) {
    return thrown(tool, error, timedOut);
  } finally {
    cutOff.onCut = undefined;
    callOff();
  }
}

/** A note that cannot be sent is lost: thrown into the body, it would leave an effect in doubt. */
function tellQuietly(deps: PerformDeps, attempt: Attempt, note: unknown): void {
  try {
    deps.progress(attempt, note);
  } catch {
    // Best effort by its contract.
  }
}
