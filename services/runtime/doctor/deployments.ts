/** What is served and declared of a mesh that was looked at, and which living sagas no host takes. */
import type { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import type { DefinitionRef } from "../../../protocol/event.ts";
import { isServed } from "../../deployments/choose.ts";
import { readDeclared } from "../../deployments/declared.ts";
import { livingAmong } from "../../deployments/served.ts";
import type { Examination } from "../../nats/examine.ts";

/** Sagas that are named of each definition. */
const someMax = 3;

interface Living {
  readonly saga: string;
  readonly definition: DefinitionRef;
}

/**
 * Undefined where hosts or registry could not be read. Ledgers are read (`livingUnder`) only if there is a definition that no
 * host takes, and then those of its sagas alone.
 */
export async function deploymentsOf(
  { hosts: entries, registry }: Examination,
  definitions: readonly DefinitionRef[],
  livingUnder: (under: (ref: DefinitionRef) => boolean) => Promise<readonly Living[]>,
): Promise<DoctorDocument["deployments"]> {
  if (entries === undefined || registry === undefined) return undefined;
  const hosts = livingAmong(entries.map(({ key, data }) => ({ host: key, data })));
  const isUnserved = (ref: DefinitionRef) => !isServed(ref, hosts);
  const living = definitions.some(isUnserved) ? await livingUnder(isUnserved) : [];
  const { names, faults } = await readDeclared({
    read: async (key) => {
      const entry = registry.find((one) => one.key === key);
      return entry && { data: entry.data, revision: 1 };
    },
  });
  const told = (definition: DefinitionRef) => ({ definition, served: !isUnserved(definition) });
  return {
    unserved: byDefinition(living),
    declared: [...names].map(([name, { current, ramp }]) => ({
      name,
      current: told(current),
      ...(ramp === undefined ? {} : { ramp: { ...told(ramp.to), share: ramp.share } }),
    })),
    faults: [...faults],
  };
}

function byDefinition(living: readonly Living[]) {
  const groups = Map.groupBy(living, ({ definition }) => `${definition.name} ${definition.hash}`);
  return [...groups.values()].flatMap((sagas) => {
    const [first] = sagas;
    if (first === undefined) return [];
    const some = sagas.slice(0, someMax).map(({ saga }) => saga);
    return [{ definition: first.definition, sagas: sagas.length, some }];
  });
}
