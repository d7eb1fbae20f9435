/** Counts which members and entries of a JSON value are visited. Times say little on a busy machine; visits are always the same. */

export type CountedValue = {
  value: unknown;
  /** The number of members and entries that were read, and of those in each list of names that was made. */
  visits(): number;
};

export function countVisits(json: unknown): CountedValue {
  let visits = 0;
  const proxies = new WeakMap<object, object>();

  function watch(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const proxy = proxies.get(value) ?? createProxy(value);
    proxies.set(value, proxy);
    return proxy;
  }

  function createProxy(target: object): object {
    return new Proxy(target, {
      get(object, name) {
        if (Object.hasOwn(object, name)) visits += 1;
        return watch(Reflect.get(object, name));
      },
      ownKeys(object) {
        const names = Reflect.ownKeys(object);
        visits += names.length;
        return names;
      },
    });
  }

  return { value: watch(json), visits: () => visits };
}
