/** Listeners of one kind of news. */
export type Listeners<T> = {
  notify(news: T): void;
  /** Calls `listener` with all later news, until the returned function is called. */
  add(listener: (news: T) => void): () => void;
};

export function createListeners<T>(): Listeners<T> {
  const listeners = new Set<(news: T) => void>();
  return {
    notify(news) {
      for (const listener of listeners) listener(news);
    },
    add(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
