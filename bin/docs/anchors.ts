/** The names by which a page's headings are linked, the same as on GitHub. */

/** Gives each heading of one page its name; of two that are alike the second gets `-1`. */
export function createAnchors(): (heading: string) => string {
  const taken = new Map<string, number>();
  return (heading) => {
    const name = heading
      .toLowerCase()
      .trim()
      .replaceAll(/[^\p{L}\p{M}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const before = taken.get(name) ?? 0;
    taken.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  };
}
