/** One change of the members at a time: of two under way each could find a majority of its own. What an earlier leader left behind counts too. */
export class ChangeGate {
  #term = -1;
  #index = 0;
  isOpen(term: number, lastIndex: number, applied: number): boolean {
    if (this.#term !== term) [this.#term, this.#index] = [term, lastIndex];
    return applied >= this.#index;
  }
  taken(index: number): void {
    this.#index = index;
  }
}
