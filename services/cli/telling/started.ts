/**
 * Started: what a person is shown after a start was stored.
 */
import { briefDefinition } from "../../../protocol/definition-text.ts";
import type { DefinitionRef } from "../../../protocol/event.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { chooseForStart } from "../../deployments/choose.ts";
import { readDeclared } from "../../deployments/declared.ts";
import { type LivingHost, livingHosts } from "../../deployments/served.ts";
import type { Ports } from "../../wire/ports.ts";
import type { CommandContext } from "../frame/context.ts";
import { createFlow } from "./flow.ts";
import { watchToEnd } from "./watch.ts";

export const noHost =
  "no host serves now, so the saga begins when one does; remedy: sagamesh up --app FILE, or sagamesh host --app FILE";

/** What a start begins with, by what hosts serve and people declared now; and what a person is told where it waits. */
export async function beginsWith(
  { membership, registry }: Ports,
  { name, version }: { readonly name: string; readonly version: number | undefined },
  saga: SagaId,
): Promise<{ definition?: DefinitionRef; unserved?: DefinitionRef; waits?: string }> {
  const hosts = await livingHosts(membership);
  const { names } = await readDeclared(registry);
  const chosen = chooseForStart({ name, version }, saga, hosts, names);
  const named = version === undefined ? name : `${name}@${version}`;
  if (chosen !== undefined && !("waitsFor" in chosen)) return { definition: chosen };
  const unserved = chosen?.waitsFor;
  return { ...(unserved && { definition: unserved, unserved }), waits: waitsText(hosts, named, unserved) };
}

function waitsText(hosts: readonly LivingHost[], named: string, promoted: DefinitionRef | undefined): string {
  if (hosts.every(({ draining }) => draining)) return noHost;
  if (promoted === undefined)
    return `no host serves ${named} now, so the saga begins when one does; remedy: sagamesh host --app FILE`;
  return `${briefDefinition(promoted)} was promoted and no host serves it now, so the saga begins when one does; remedy: sagamesh host --app FILE, or promote another with sagamesh deployments promote`;
}

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
