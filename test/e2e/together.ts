/** Stories that run at once in one world, since most of a story is waiting; each is heard by a test of its own. */

/** What became of each, by its name. A story that has gone wrong is told of when its test awaits it. */
export function together<Args extends unknown[]>(
  stories: Record<string, (...args: Args) => Promise<void>>,
  ...args: Args
): ReadonlyMap<string, Promise<void>> {
  const told = new Map<string, Promise<void>>();
  for (const [name, story] of Object.entries(stories)) {
    const ended = story(...args);
    ended.catch(() => {});
    told.set(name, ended);
  }
  return told;
}
