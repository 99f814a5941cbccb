/** Saga key: how a saga is called where suspects are told apart. */
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";

/** The key of a saga. */
export const keyOf = (saga: SagaId): string => `saga.${saga}`;
/** The saga of a key. Throws BAD_ID. */
export const sagaOf = (key: string): SagaId => parseSagaId(key.slice("saga.".length));
