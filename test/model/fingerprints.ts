/**
 * Fingerprints: which states were seen, as 64 bits each; from which each was first reached, and which lead to which.
 *
 * All of it in typed arrays: ten million states with four steps each take 400 MB.
 */

/** A list of numbers that grows. */
class Numbers {
  private list = new Uint32Array(1 << 16);
  length = 0;

  push(value: number): void {
    if (this.length === this.list.length) {
      const longer = new Uint32Array(this.length * 2);
      longer.set(this.list);
      this.list = longer;
    }
    this.list[this.length++] = value;
  }

  at(index: number): number {
    return this.list[index] ?? 0;
  }
}

/** States by their fingerprints, numbered as they come. */
export class Fingerprints {
  private readonly highs = new Numbers();
  private readonly lows = new Numbers();
  private readonly parents = new Numbers();
  private readonly from = new Numbers();
  private readonly to = new Numbers();
  /** By hash: a state's number and one, 0 where none is. */
  private slots = new Uint32Array(1 << 17);

  get size(): number {
    return this.highs.length;
  }

  /** The state's number, a new one for a state that was not seen; only then the parent counts. */
  add(high: number, low: number, parent: number): { readonly index: number; readonly isNew: boolean } {
    const slot = this.slotOf(high, low);
    const present = this.slots[slot] ?? 0;
    if (present !== 0) return { index: present - 1, isNew: false };
    const index = this.size;
    this.highs.push(high);
    this.lows.push(low);
    this.parents.push(parent);
    this.slots[slot] = index + 1;
    if (this.size * 2 > this.slots.length) this.grow();
    return { index, isNew: true };
  }

  /** The state's number; undefined for one that was not seen. */
  find(high: number, low: number): number | undefined {
    const present = this.slots[this.slotOf(high, low)] ?? 0;
    return present === 0 ? undefined : present - 1;
  }

  parentOf(index: number): number {
    return this.parents.at(index);
  }

  /** The second state can follow the first. */
  link(from: number, to: number): void {
    if (from === to) return;
    this.from.push(from);
    this.to.push(to);
  }

  /** The first state from which none of the goals can be reached by links. */
  firstWithout(goals: readonly number[]): number | undefined {
    const before = this.linksByTarget();
    const leads = new Uint8Array(this.size);
    const waiting = [...goals];
    for (const goal of goals) leads[goal] = 1;
    for (let state = waiting.pop(); state !== undefined; state = waiting.pop())
      for (let i = before.starts[state] ?? 0; i < (before.starts[state + 1] ?? 0); i++) {
        const source = before.sources[i] ?? 0;
        if (leads[source] === 1) continue;
        leads[source] = 1;
        waiting.push(source);
      }
    const first = leads.indexOf(0);
    return first === -1 ? undefined : first;
  }

  private linksByTarget(): { readonly starts: Uint32Array; readonly sources: Uint32Array } {
    const starts = new Uint32Array(this.size + 2);
    for (let i = 0; i < this.to.length; i++) starts[this.to.at(i) + 2] = (starts[this.to.at(i) + 2] ?? 0) + 1;
    for (let i = 2; i < starts.length; i++) starts[i] = (starts[i] ?? 0) + (starts[i - 1] ?? 0);
    const sources = new Uint32Array(this.to.length);
    for (let i = 0; i < this.to.length; i++) {
      const place = starts[this.to.at(i) + 1] ?? 0;
      sources[place] = this.from.at(i);
      starts[this.to.at(i) + 1] = place + 1;
    }
    return { starts, sources };
  }

  private slotOf(high: number, low: number): number {
    const mask = this.slots.length - 1;
    for (let slot = (high ^ Math.imul(low, 0x9e3779b1)) & mask; ; slot = (slot + 1) & mask) {
      const present = this.slots[slot] ?? 0;
      if (present === 0 || (this.highs.at(present - 1) === high && this.lows.at(present - 1) === low))
        return slot;
    }
  }

  private grow(): void {
    this.slots = new Uint32Array(this.slots.length * 2);
    for (let index = 0; index < this.size; index++)
      this.slots[this.slotOf(this.highs.at(index), this.lows.at(index))] = index + 1;
  }
}
