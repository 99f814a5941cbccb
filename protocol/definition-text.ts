/** Definition text: a definition's name, version and hash in one word, for headers and for people. */
import { DefinitionRef } from "./event.ts";

/** `name@version#hash`, with the whole hash. */
export const textOfDefinition = ({ name, version, hash }: DefinitionRef): string =>
  `${name}@${version}#${hash}`;

/** The definition of such a text; undefined of anything else. */
export function definitionOfText(text: string | undefined): DefinitionRef | undefined {
  const [, name, version, hash] = /^(.+)@(\d+)#([^#@]+)$/.exec(text ?? "") ?? [];
  return DefinitionRef.safeParse({ name, version: Number(version), hash }).data;
}

const hashChars = 8;

/** The same as people read and type it, `hire@2#1f0c9a3e`: with as much of the hash as tells it from others. */
export const briefDefinition = ({ name, version, hash }: DefinitionRef): string =>
  `${name}@${version}#${hash.slice(0, hashChars)}`;
