/**
 * Started: what a person is shown after a start was stored.
 */
import { decodeHostEntry } from "../../../protocol/host-entry.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { Ports } from "../../wire/ports.ts";
import type { CommandContext } from "../frame/context.ts";
import { createFlow } from "./flow.ts";
import { watchToEnd } from "./watch.ts";

/** A host that is killed still counts for the seconds until its word of being there expires. */
export const hasLiveHost = async ({ membership }: Ports): Promise<boolean> =>
  (await membership.hosts()).some(({ data }) => decodeHostEntry(data)?.draining === false);

export const noHost =
  "no host serves now, so the saga begins when one does; remedy: sagamesh up --app FILE, or sagamesh host --app FILE";

/** Shows what happens and what is said after a turn, and waits for the end. Resolves to the exit code. */
export function watchStarted(
  context: CommandContext,
  ports: Ports,
  saga: SagaId,
  after = 0,
): Promise<number> {
  const { output } = context;
  const flow = createFlow((piece) => output.flow(piece, "progress"));
  return watchToEnd(context, ports, saga, {
    turn: (lines, { turn }) => {
      flow.endLine();
      if (turn > after) lines.forEach(output.note);
    },
    ...(output.json ? {} : { between: flow.tell }),
  });
}
