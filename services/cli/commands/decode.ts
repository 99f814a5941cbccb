import { readStdin } from "../frame/stdin.ts";
import { decodeAny } from "../telling/decode-any.ts";
import { defineCommand } from "../frame/command.ts";

/** A filter for `nats --translate`. */
export const decode = defineCommand({
  name: "decode",
  summary: "read a message's body from stdin, JSON or MessagePack, and print it as readable JSON",
  details: "Needs no server. What is neither is printed as the text it is.",
  positionals: {},
  options: {},
  without: ["server", "data"],
  examples: ["nats stream view LEDGER --translate 'sagamesh decode'"],
  run: async (_, { output, signal }) => {
    const value = decodeAny(await readStdin(signal));
    if (value !== undefined) output.print(value, () => JSON.stringify(value, undefined, 2));
    return 0;
  },
});
