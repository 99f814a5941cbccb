/** The desk's clerk: a script. `done` is what it says at the end, so that another clerk can say something else. */
import type { ModelRequest } from "sagamesh/models";
import { scriptedModel, type ScriptedAnswer } from "../../services/models/scripted.ts";

const firstCalls = (errand: string, to: string): ScriptedAnswer["calls"] => {
  switch (errand) {
    case "book":
      return [
        { tool: "look_up", input: { to } },
        { tool: "book_seat", input: { to } },
      ];
    case "airline":
      return [{ tool: "ask_airline", input: { question: "window?" } }];
    case "airline_twice":
      return [{ tool: "ask_airline", input: { question: "twice" } }];
    case "pay":
      return [{ tool: "pay", input: { cents: 100 } }];
    case "pay_into_doubt":
      return [{ tool: "pay", input: { cents: 666 } }];
    case "upgrade":
      return [{ tool: "upgrade", input: { to } }];
    case "ask":
      return [
        {
          tool: "ask",
          input: {
            question: "Window or aisle?",
            schema: {
              type: "object",
              properties: { seat: { enum: ["window", "aisle"] } },
              required: ["seat"],
            },
          },
        },
      ];
    case "doze":
      return [{ tool: "doze", input: {} }];
    case "wait":
      return [{ tool: "wait", input: { signals: ["note"] } }];
    default:
      return [{ tool: "finish", input: { output: { wrong: true } } }];
  }
};

const said = ({ messages }: ModelRequest): { errand: string; to: string } => {
  const [first] = messages;
  const part = first?.role === "user" ? first.parts[0] : undefined;
  return part?.type === "text"
    ? (JSON.parse(part.text) as { errand: string; to: string })
    : { errand: "", to: "" };
};

export const clerk = (done: (request: ModelRequest) => string) =>
  scriptedModel("clerk", (request) => {
    const usage = { inputTokens: 100, outputTokens: 10 };
    const { errand, to } = said(request);
    if (request.step === 1 || errand === "fail") return { calls: firstCalls(errand, to), usage };
    return { calls: [{ tool: "finish", input: { output: { done: done(request) } } }], usage };
  });
