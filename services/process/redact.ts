/**
 * Redact: what of a text is a secret, by the same names everywhere: fields of the log, words of an error, its stack.
 *
 * ZR1 A text is redacted by what stands before a value (`password=`, `Authorization: Bearer`, the user part of a URL)
 *     and by the values themselves that the environment names secret. It catches what is repeated by mistake, and not
 *     a program that means to smuggle a secret out.
 */

/** Fields whose values are secrets, in the log and in texts. */
export const secretNames = [
  ...["apiKey", "anthropicApiKey", "authorization", "password", "pass", "token", "secret", "cookie"],
] as const;

const mask = "[redacted]";
// No part of it can match in two ways: it runs over texts of any length that others wrote.
const named =
  /(api[-_]?key|authorization|password|token|secret|cookie|\bpass)(["']?\s*[:=]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;&{}()]+/gi;
const scheme = /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi;
const userOfUrl = /\/\/[^/@\s]+@/g;

/** Names of variables whose values are secrets; one that names a file or an address is none. */
const secretVariable = /(?:key|token|secret|password|passwd|credentials?|seed)s?$/i;
/** Shorter values stand in ordinary text, too. */
const secretCharactersMin = 8;

type Environment = Readonly<Record<string, string | undefined>>;

/** The text without secrets (ZR1). */
export function redactText(text: string, env: Environment = process.env): string {
  const values = Object.entries(env)
    .filter(([name, value]) => secretVariable.test(name) && (value?.length ?? 0) >= secretCharactersMin)
    .flatMap(([, value]) => (value === undefined ? [] : value.split(",")))
    .filter((value) => value.length >= secretCharactersMin);
  return values
    .reduce((left, value) => left.replaceAll(value, mask), text)
    .replaceAll(userOfUrl, "//***@")
    .replaceAll(named, `$1$2${mask}`)
    .replaceAll(scheme, `$1 ${mask}`);
}
