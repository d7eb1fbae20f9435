/** Work of one kind that must not overlap: each waits until the one before it is over, whatever became of that. */

export type InTurn = <T>(request: { key: string; work: () => Promise<T> }) => Promise<T>;

/** Within this process; keys have turns of their own. */
export function createTurns(): InTurn {
  const last = new Map<string, Promise<unknown>>();
  return async ({ key, work }) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
}
