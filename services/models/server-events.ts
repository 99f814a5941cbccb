/**
 * Server-sent events, as far as model servers use them: the data of each event, in order. Pure but for what it
 * remembers of the line that is not complete yet.
 */
export interface EventReader {
  /** Takes the next piece of the stream and returns the data of the events that are complete with it. */
  take(piece: string): string[];
  /** What the last event held, if the stream ended without the empty line behind it. */
  end(): string[];
}

export function createEventReader(): EventReader {
  let rest = "";
  let data: string[] = [];
  const takeLine = (line: string): string[] => {
    if (line === "") {
      const event = data.join("\n");
      data = [];
      return event === "" ? [] : [event];
    }
    // Comments keep a connection alive; names, ids and times to reconnect say nothing here.
    if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
    return [];
  };
  return {
    take: (piece) => {
      // A \r at the end may be half of a \r\n: it waits for what follows.
      const text = rest + piece;
      const lines = text.replace(/\r\n|\r(?!$)/g, "\n").split("\n");
      rest = lines.pop() ?? "";
      return lines.flatMap(takeLine);
    },
    end: () => [...takeLine(rest.replace(/\r$/, "")), ...takeLine("")],
  };
}
