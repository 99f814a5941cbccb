/** Name: as whom a person spoke here the last time. */
import { keep, kept } from "./kept.ts";

const key = "sagamesh-name";

export const keptName = (): string => kept(key) ?? "";
export const keepName = (name: string): void => keep(key, name);
