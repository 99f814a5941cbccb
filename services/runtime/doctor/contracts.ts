/**
 * Contracts: which contracts of tools have work, which have workers, and which are called at all. Pure.
 *
 * CQ1 A contract is called by what living hosts serve; by what was served once it was called. Of one that no definition
 *     ever named nothing is said: plans call tools that no definition names.
 */
import { decodeHostEntry } from "../../../protocol/host-entry.ts";
import type { DefinitionDocument, ToolDocument } from "../../../protocol/documents/registry.ts";
import type { DoctorDocument, Finding } from "../../../protocol/documents/doctor.ts";
import { toolLabel } from "../../../protocol/tool.ts";
import type { Examination } from "../../nats/examine.ts";
import { agesOf } from "./ages.ts";
import { warning } from "./finding.ts";

/** What hosts have registered. */
interface Registered {
  readonly definitions: readonly DefinitionDocument[];
  readonly tools: readonly ToolDocument[];
}

type Row = DoctorDocument["tools"][number];

/** Every contract that has work or a worker, or whose tool is paused. */
export function contractsOf({ health, work, now, hosts }: Examination, registered: Registered): Row[] {
  const queues = health?.tools ?? [];
  const unopened = [...work].filter(([contract]) => !queues.some((one) => one.contract === contract));
  const rows = [
    ...queues.map(({ name, contract, waiting, held, redelivered, pulled, paused }) => ({
      ...{ name, contract, waiting, held, redelivered, workers: pulled, paused },
      ...agesOf(work.get(contract), now),
    })),
    ...unopened.map(([contract, { name, messages, unacked }]) => ({
      ...{ name, contract, waiting: messages, held: 0, redelivered: 0, workers: false, paused: false },
      ...agesOf({ unacked, undelivered: unacked }, now),
    })),
  ];
  const isAsked = asking(hosts, registered);
  return rows
    .filter(({ waiting, held, workers, paused }) => waiting + held > 0 || workers || paused)
    .map((row) => {
      const version = registered.tools.findLast(({ contract }) => contract === row.contract)?.version;
      const asked = isAsked(row.contract);
      return {
        ...row,
        ...(version === undefined ? {} : { version }),
        ...(asked === undefined ? {} : { asked }),
      };
    });
}

/** CQ1. Whether a definition that is served now calls a contract; undefined where that cannot be said. */
function asking(
  entries: Examination["hosts"],
  { definitions, tools }: Registered,
): (contract: string) => boolean | undefined {
  const contracts = (of: readonly DefinitionDocument[]) =>
    new Set(
      of.flatMap((definition) =>
        tools.flatMap(({ name, contract }) => (definition.calls[name] === contract ? [contract] : [])),
      ),
    );
  const living = (entries ?? []).flatMap(({ data }) => decodeHostEntry(data) ?? []);
  const hashes = new Set(living.flatMap(({ serves }) => serves.map(({ hash }) => hash)));
  const called = contracts(definitions.filter(({ hash }) => hashes.has(hash)));
  const everCalled = contracts(definitions);
  const registered = new Set(tools.map(({ contract }) => contract));
  return (contract) => {
    if (living.length === 0) return undefined;
    if (called.has(contract)) return true;
    return everCalled.has(contract) || !registered.has(contract) ? false : undefined;
  };
}

/** A tool's contract as a person tells it from others of its name. */
export const rowLabel = ({ name, contract, version }: Pick<Row, "name" | "contract" | "version">): string =>
  `${version === undefined ? name : toolLabel({ name, version })} #${contract.slice(0, 8)}`;

/** Workers with contracts that nothing asks for: theirs is another application file than the hosts'. */
export const unaskedContracts = (rows: readonly Row[]): Finding[] =>
  rows
    .filter(({ workers, asked, waiting, held }) => workers && asked === false && waiting + held === 0)
    .map((row) =>
      warning(
        "CONTRACT_UNASKED",
        `a worker serves ${rowLabel(row)}, and no definition that a host serves calls it`,
        "If sagas of an older definition sleep, keep it: it may be needed. Else stop it, or start it with the hosts' application file.",
      ),
    );
