/** Applies a JSON Patch (RFC 6902), as far as agents send it: `test` is no condition here. */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";

/** More than a kept value can need. Copies of copies would soon fill the memory, and each item before others moves all of them. */
const maxOperations = 10_000;
const maxCopies = 100;
const maxCopyBytes = 64 * 1024;
const maxItems = 64 * 1024;

type Container = Record<string, unknown>;

/**
 * Returns undefined if the patch does not fit the value. The value is not changed: what the patch changes is copied, once, and the result
 * shares the rest with it, because copying a large value takes much longer than most patches.
 */
export function applyPatch(value: unknown, patch: readonly unknown[]): unknown {
  const operations = patch.map((operation) => Object(operation) as Container);
  const copies = operations.filter(({ op }) => op === "copy");
  if (operations.length > maxOperations || copies.length > maxCopies) return undefined;
  const root: Container = { "": value };
  const target = { root, owned: new Set<unknown>([root]) };
  try {
    for (const operation of operations) applyOperation(target, operation);
  } catch {
    return undefined;
  }
  return root[""];
}

/** `owned` are the objects and lists that belong to the result only. */
type Target = { root: Container; owned: Set<unknown> };

function applyOperation(target: Target, operation: Container): void {
  const { op, path, from, value } = operation;
  if (op === "remove") take(target, path);
  else if (op === "add") put(target, path, value);
  else if (op === "move") put(target, path, take(target, from));
  else if (op === "copy") put(target, path, copy(get(target, from)));
  else if (op === "replace") {
    take(target, path);
    put(target, path, value);
  } else if (op !== "test") throw new Error("unknown operation");
}

/** The object or list that a JSON Pointer (RFC 6901) leads into, which may be changed, and the last key. */
function locate({ root, owned }: Target, pointer: unknown): { parent: Container; key: string } {
  if (typeof pointer !== "string") throw new Error("no pointer");
  const keys = pointer.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const key = keys.pop() ?? "";
  let parent = root;
  for (const each of keys) parent = ownCopy({ parent, key: each, owned });
  if (key === "__proto__") throw new Error("no parent");
  if (Array.isArray(parent) && (parent.length > maxItems || key === "length"))
    throw new Error("no index");
  return { parent, key };
}

/** The object or list at the key, which is replaced by a copy unless it is one. */
function ownCopy(place: { parent: Container; key: string; owned: Set<unknown> }): Container {
  const { parent, key, owned } = place;
  const member = ownMember(parent, key);
  if (typeof member !== "object" || member === null || key === "__proto__")
    throw new Error("no parent");
  if (owned.has(member)) return member as Container;
  const ownedCopy = (Array.isArray(member) ? [...member] : { ...member }) as Container;
  owned.add(ownedCopy);
  parent[key] = ownedCopy;
  return ownedCopy;
}

function copy(value: unknown): unknown {
  if (!isJsonWithin({ value, maxBytes: maxCopyBytes })) throw new Error("too large");
  return structuredClone(value);
}

function ownMember(parent: Container, key: string): unknown {
  if (!Object.hasOwn(parent, key)) throw new Error("no such member");
  return parent[key];
}

function get(target: Target, pointer: unknown): unknown {
  const { parent, key } = locate(target, pointer);
  return ownMember(parent, key);
}

function take(target: Target, pointer: unknown): unknown {
  const { parent, key } = locate(target, pointer);
  const member = ownMember(parent, key);
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return member;
}

function put(target: Target, pointer: unknown, value: unknown): void {
  const { parent, key } = locate(target, pointer);
  if (!Array.isArray(parent)) {
    parent[key] = value;
    return;
  }
  const index = key === "-" ? parent.length : Number(key);
  const isIndex = Number.isInteger(index) && (key === "-" || key === String(index));
  if (!isIndex || index < 0 || index > parent.length) throw new Error("no index");
  parent.splice(index, 0, value);
}
