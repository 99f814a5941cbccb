/**
 * Named: a definition as a person names it, `NAME@VERSION` or `NAME@VERSION#HASH` with as much of the hash as is needed.
 */
import { briefDefinition } from "../../protocol/definition-text.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import { didYouMean } from "../../protocol/nearest.ts";

/** A definition as it was named; `hash` is the beginning of one. */
export interface Named {
  readonly name: string;
  readonly version: number;
  readonly hash?: string | undefined;
}

const form = /^([a-zA-Z][a-zA-Z0-9_-]{0,63})@(\d{1,9})(?:#([0-9a-f]{1,64}))?$/;

/** Reads `hire@2` or `hire@2#1f0c`. Throws USAGE. */
export function parseNamed(text: string): Named {
  const [, name, version, hash] = form.exec(text) ?? [];
  if (name === undefined)
    throw new MeshError(
      "USAGE",
      `"${text}" is not a definition: expected NAME@VERSION or NAME@VERSION#HASH`,
      {
        remedy: "`sagamesh deployments` lists them as they are written, for example hire@2.",
      },
    );
  return { name, version: Number(version), hash };
}

/**
 * The one of `known` that is named. Of several hashes of one version those in `preferred` come first: what is served goes
 * before what once was. Throws AGENT_UNKNOWN for a name that none of them has, DEFINITION_UNKNOWN for a version or hash,
 * USAGE where several fit.
 */
export function findNamed(
  { name, version, hash = "" }: Named,
  known: readonly DefinitionRef[],
  preferred: readonly DefinitionRef[] = [],
): DefinitionRef {
  const named = known.filter((one) => one.name === name);
  if (named.length === 0) throw nameUnknown(name, known);
  const fits = (one: DefinitionRef) =>
    one.name === name && one.version === version && one.hash.startsWith(hash);
  const first = distinct(preferred.filter(fits));
  const [found, ...others] = first.length > 0 ? first : distinct(named.filter(fits));
  const list = (refs: readonly DefinitionRef[]) => refs.map(briefDefinition).sort().join(", ");
  if (found === undefined)
    throw new MeshError(
      "DEFINITION_UNKNOWN",
      `no host has ever served ${name}@${version}${hash === "" ? "" : `#${hash}`}; of ${name} there are ${list(distinct(named))}`,
    );
  if (others.length > 0)
    throw new MeshError(
      "USAGE",
      `${name}@${version}${hash === "" ? "" : `#${hash}`} is each of ${list([found, ...others])}`,
      { remedy: "Name one of them with its hash." },
    );
  return { name: found.name, version: found.version, hash: found.hash };
}

function nameUnknown(name: string, known: readonly DefinitionRef[]): MeshError {
  const names = [...new Set(known.map((one) => one.name))].sort();
  const there =
    names.length === 0 ? "no host has served anything here yet" : `served here: ${names.join(", ")}`;
  return new MeshError("AGENT_UNKNOWN", `nothing is named "${name}"; ${there}${didYouMean(name, names)}`);
}

const distinct = (refs: readonly DefinitionRef[]): DefinitionRef[] => [
  ...new Map(refs.map((one) => [one.hash, one])).values(),
];
