/** What several checks need is asked for once, when the first of them does. */

export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= work();
    return asked;
  };
}
