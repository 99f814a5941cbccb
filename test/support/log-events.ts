/**
 * The events of the log, collected from the source: every call of a logger, with its level, its fields and its
 * sentence. The compiler's own parser reads it, so a comment or a text that looks like a call is none.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

export interface LogEvent {
  readonly event: string;
  readonly levels: readonly string[];
  readonly fields: readonly string[];
  /** `file:line`. */
  readonly at: string;
}

const levels = ["debug", "info", "warn", "error"];

/** Throws where a sentence is not a literal: such an event could not be looked up by anybody. */
export function collectLogEvents(folder: string): LogEvent[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => eventsOf(join(folder, name)));
}

function eventsOf(path: string): LogEvent[] {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const events: LogEvent[] = [];
  const visit = (node: ts.Node): void => {
    const levelsHere = ts.isCallExpression(node) ? levelsOf(node.expression, file) : undefined;
    if (ts.isCallExpression(node) && levelsHere !== undefined) {
      const [fields, sentence] = node.arguments;
      const at = `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
      if (sentence === undefined || !ts.isStringLiteral(sentence))
        throw new Error(`${at}: the sentence of a log event is a literal`);
      events.push({ event: sentence.text, levels: levelsHere, fields: fieldsOf(fields), at });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return events;
}

/** `log.warn`, `deps.log.warn`, `log().warn`, `log[level]` with a constant that can be one of several. */
function levelsOf(callee: ts.Expression, file: ts.SourceFile): string[] | undefined {
  const isLog = (of: ts.Expression): boolean =>
    (ts.isIdentifier(of) && of.text === "log") ||
    (ts.isPropertyAccessExpression(of) && of.name.text === "log") ||
    (ts.isCallExpression(of) && of.arguments.length === 0 && isLog(of.expression));
  if (ts.isPropertyAccessExpression(callee) && isLog(callee.expression))
    return levels.includes(callee.name.text) ? [callee.name.text] : undefined;
  if (!ts.isElementAccessExpression(callee) || !isLog(callee.expression)) return undefined;
  const name = callee.argumentExpression.getText();
  const found = new Set<string>();
  const literals = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) && levels.includes(node.text)) found.add(node.text);
    ts.forEachChild(node, literals);
  };
  const find = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name && node.initializer !== undefined)
      literals(node.initializer);
    ts.forEachChild(node, find);
  };
  find(file);
  return [...found];
}

function fieldsOf(node: ts.Expression | undefined): string[] {
  if (node === undefined || !ts.isObjectLiteralExpression(node)) return [];
  return node.properties.flatMap((property) => (property.name === undefined ? [] : property.name.getText()));
}
