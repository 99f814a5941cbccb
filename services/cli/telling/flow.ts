/**
 * Flow: words as they are said, on a person's terminal.
 *
 * FL1 One speaker has the line at a time. Another, or a turn, begins a line of its own.
 * FL2 A terminal cannot be unwritten: a line says which words were taken back.
 */
import type { IntentId } from "../../../protocol/ids.ts";
import type { LiveEvent } from "../../client/live.ts";
import { brief } from "./describe.ts";

type Between = Exclude<LiveEvent, { type: "turn" }>;

export interface Flow {
  readonly tell: (event: Between) => void;
  /** Ends the line that is being said, if one is. */
  endLine(): void;
}

export function createFlow(write: (text: string) => void): Flow {
  /** Whose words the line is, and of which kind. */
  let speaker = "";

  const endLine = () => {
    if (speaker !== "") write("\n");
    speaker = "";
  };
  const line = (text: string) => {
    endLine();
    write(`${text}\n`);
  };
  const say = (intent: IntentId, kind: "text" | "thinking", piece: string) => {
    const who = `${intent} ${kind}`;
    const margin = `  ${intent} ${kind === "thinking" ? "· " : "│ "}`;
    if (speaker !== who) {
      endLine();
      write(margin);
      speaker = who;
    }
    write(piece.replaceAll("\n", `\n${margin}`));
  };

  return {
    endLine,
    tell: (event) => {
      switch (event.type) {
        case "token":
          return say(event.intent, event.kind, event.piece);
        case "missed":
          return say(event.intent, "text", `… (${event.characters} characters missed) `);
        case "retracted":
          return line(`  ${event.intent} ╳ taken back [${event.because}]`);
        case "settled":
          if (event.rest !== "") say(event.intent, "text", event.rest);
          return endLine();
        case "progress":
          return line(`  ${event.intent} ▸ ${brief(event.note)}`);
      }
    },
  };
}
