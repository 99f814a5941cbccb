/**
 * Unserved: what this host cannot take, because it lacks the definition. Another may serve it (routing.ts).
 */
import { textOfDefinition } from "../../protocol/definition-text.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Wanted } from "../deployments/choose.ts";

/** VERSION_UNSERVED, with the definition. */
export class Unserved extends MeshError {
  readonly definition: DefinitionRef;

  constructor(saga: SagaId, definition: DefinitionRef) {
    super(
      "VERSION_UNSERVED",
      `${saga} goes on under ${textOfDefinition(definition)}, which this host does not serve`,
    );
    this.definition = definition;
  }
}

/** AGENT_UNKNOWN: no living host serves what a start asks for. */
export class NoneServed extends MeshError {
  readonly wanted: Wanted;

  constructor({ name, version, hash }: Wanted) {
    super("AGENT_UNKNOWN", `no living host serves "${wordsOf({ name, version, hash })}"`);
    this.wanted = { name, version, hash };
  }
}

/** What a start asks for, in one word. */
export const wordsOf = ({ name, version, hash }: Wanted): string =>
  `${name}${version === undefined ? "" : `@${version}`}${hash === undefined ? "" : `#${hash}`}`;
