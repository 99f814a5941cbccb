/**
 * Scale: real time laid out on a line, with long waits folded: what took its time keeps its proportions, and a night between
 * two calls takes no more room than a breath.
 */

/** Something that was going on. Open at its end: it still is. */
export interface Span {
  readonly at: number;
  readonly until: number;
}

/** A wait that was folded, at its place. */
export interface Fold extends Span {
  /** Where it begins and ends on the line, from 0 to 1. */
  readonly x: number;
  readonly width: number;
}

export interface Scale {
  /** Where a moment lies on the line, from 0 to 1. */
  readonly x: (at: number) => number;
  /** The moment that lies there. */
  readonly at: (x: number) => number;
  readonly folds: readonly Fold[];
}

/** A stretch of time with its share of the line. */
interface Piece extends Span {
  readonly isFold: boolean;
  readonly x: number;
  readonly width: number;
}

/** Shorter waits are shown as they are. Milliseconds. */
const foldLeastMs = 1_000;
/** All folds together take at most so much beside what is shown as it is, and one alone so much. */
const foldsShare = 0.5;
const foldShare = 0.05;

/** The scale from the first moment to the last. `busy` is what went on; the time between is folded where it is long. */
export function scaleOf(busy: readonly Span[], from: number, to: number): Scale {
  const end = Math.max(to, from + 1);
  const stretches = stretchesOf(busy, from, end);
  const shown = stretches.reduce((sum, one) => sum + (one.isFold ? 0 : one.until - one.at), 0);
  const folds = stretches.filter(({ isFold }) => isFold).length;
  const foldWeight = Math.max(1, Math.min(shown * foldShare, (shown * foldsShare) / Math.max(1, folds)));
  const weightOf = ({ isFold, at, until }: (typeof stretches)[number]) => (isFold ? foldWeight : until - at);
  const total = stretches.reduce((sum, one) => sum + weightOf(one), 0);
  const pieces: Piece[] = [];
  let x = 0;
  for (const one of stretches) {
    const width = weightOf(one) / total;
    pieces.push({ ...one, x, width });
    x += width;
  }
  return {
    x: (at) => placeIn(pieces, at),
    at: (place) => momentIn(pieces, place),
    folds: pieces.filter(({ isFold }) => isFold),
  };
}

/** What went on as stretches without overlaps, and the waits between them. */
function stretchesOf(
  busy: readonly Span[],
  from: number,
  to: number,
): (Span & { readonly isFold: boolean })[] {
  const sorted = busy
    .map(({ at, until }) => ({ at: clamp(at, from, to), until: clamp(until, from, to) }))
    .sort((a, b) => a.at - b.at);
  const folds: Span[] = [];
  let reached = from;
  for (const { at, until } of [...sorted, { at: to, until: to }]) {
    if (at - reached >= foldLeastMs) folds.push({ at: reached, until: at });
    reached = Math.max(reached, until);
  }
  // Where nothing is left to be shown as it is, nothing is folded.
  if (folds.reduce((sum, { at, until }) => sum + until - at, 0) >= to - from)
    return [{ at: from, until: to, isFold: false }];
  const stretches: (Span & { isFold: boolean })[] = [];
  let done = from;
  for (const fold of folds) {
    if (fold.at > done) stretches.push({ at: done, until: fold.at, isFold: false });
    stretches.push({ ...fold, isFold: true });
    done = fold.until;
  }
  if (to > done) stretches.push({ at: done, until: to, isFold: false });
  return stretches;
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

function placeIn(pieces: readonly Piece[], at: number): number {
  const piece = pieces.find(({ until }) => at <= until) ?? pieces.at(-1);
  if (piece === undefined) return 0;
  const share = piece.until === piece.at ? 0 : (at - piece.at) / (piece.until - piece.at);
  return piece.x + clamp(share, 0, 1) * piece.width;
}

function momentIn(pieces: readonly Piece[], x: number): number {
  const piece = pieces.find((one) => x <= one.x + one.width) ?? pieces.at(-1);
  if (piece === undefined) return 0;
  const share = piece.width === 0 ? 0 : (x - piece.x) / piece.width;
  return piece.at + clamp(share, 0, 1) * (piece.until - piece.at);
}
