/** A stored item as JSON text: what every engine writes and reads. */

/** An item cannot be written or read. That is not the store's fault, and happens again at every try. */
export class ItemError extends Error {
  /** The stored JSON, where it is JSON but not an item of this kind. */
  readonly json: unknown;

  constructor({ cause, json }: { cause: unknown; json?: unknown }) {
    super("An item cannot be written or read.", { cause });
    this.name = "ItemError";
    this.json = json;
  }
}

export function writeItem(item: object): string {
  try {
    return JSON.stringify(item);
  } catch (cause) {
    throw new ItemError({ cause });
  }
}

/** `parse` gets what JSON.parse gives and throws where that is no item. */
export function readItem<T>({ text, parse }: { text: string; parse: (json: unknown) => T }): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
    return parse(json);
  } catch (cause) {
    throw new ItemError({ cause, json });
  }
}
