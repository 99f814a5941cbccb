/**
 * A tool or a model that was served here, as `pause` and `resume` name it.
 */
import { MeshError } from "../../../protocol/errors.ts";
import { Name } from "../../../protocol/ids.ts";
import { didYouMean } from "../../../protocol/nearest.ts";
import type { ThrottleKind, Throttled } from "../../../protocol/throttle.ts";
import { readRegistry } from "../../client/registry.ts";
import type { Ports } from "../../wire/ports.ts";

/** Throws USAGE, TOOL_UNKNOWN or MODEL_UNKNOWN; a tool that hosts perform themselves cannot be paused. */
export async function readThrottled(ports: Ports, kind: ThrottleKind, name: string): Promise<Throttled> {
  if (!Name.safeParse(name).success) throw new MeshError("USAGE", `"${name}" is not a name`);
  const { definitions, tools } = await readRegistry(ports.registry);
  if (kind === "model") {
    const models = [...new Set(definitions.flatMap((one) => one.models))].sort();
    if (!models.includes(name))
      throw new MeshError("MODEL_UNKNOWN", unknown("model", name, models), { remedy });
    return { kind: "model", name };
  }
  const named = tools.filter((tool) => tool.name === name);
  const names = [...new Set(tools.map((tool) => tool.name))].sort();
  if (named.length === 0) throw new MeshError("TOOL_UNKNOWN", unknown("tool", name, names), { remedy });
  if (named.at(-1)?.placement === "host")
    throw new MeshError(
      "USAGE",
      `${name} is performed by the hosts themselves, which share no queue for it`,
      {
        remedy: 'Give the tool placement "worker" if it must be paused.',
      },
    );
  return { kind: "tool", name };
}

const remedy = "Check the spelling; `sagamesh doctor` lists what is served.";

const unknown = (kind: string, name: string, known: readonly string[]): string =>
  `no ${kind} is named "${name}"; ${known.length === 0 ? "none was served here yet" : `served here: ${known.join(", ")}${didYouMean(name, known)}`}`;
