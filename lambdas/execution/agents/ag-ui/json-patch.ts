/** Applies a JSON Patch (RFC 6902), as far as agents send it: `test` is no condition here. */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";

/** More than a kept value can need. Copies of copies would soon fill the memory, and each item before others moves all of them. */
const maxOperations = 10_000;
const maxCopies = 100;
const maxCopyBytes = 64 * 1024;
const maxItems = 64 * 1024;

type Container = Record<string, unknown>;

/** Returns undefined if the patch does not fit the value, which is not changed. */
export function applyPatch(value: unknown, patch: readonly unknown[]): unknown {
  const operations = patch.map((operation) => Object(operation) as Container);
  const copies = operations.filter(({ op }) => op === "copy");
  if (operations.length > maxOperations || copies.length > maxCopies) return undefined;
  const root: Container = { "": structuredClone(value) };
  try {
    for (const operation of operations) applyOperation(root, operation);
  } catch {
    return undefined;
  }
  return root[""];
}

function applyOperation(root: Container, operation: Container): void {
  const { op, path, from, value } = operation;
  if (op === "remove") take(root, path);
  else if (op === "add") put(root, path, value);
  else if (op === "move") put(root, path, take(root, from));
  else if (op === "copy") put(root, path, copy(get(root, from)));
  else if (op === "replace") {
    take(root, path);
    put(root, path, value);
  } else if (op !== "test") throw new Error("unknown operation");
}

/** The object or list that a JSON Pointer (RFC 6901) leads into, and the last key. */
function locate(root: Container, pointer: unknown): { parent: Container; key: string } {
  if (typeof pointer !== "string") throw new Error("no pointer");
  const keys = pointer.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const key = keys.pop() ?? "";
  let parent = root;
  for (const each of keys) parent = ownMember(parent, each) as Container;
  if (typeof parent !== "object" || parent === null || key === "__proto__")
    throw new Error("no parent");
  if (Array.isArray(parent) && (parent.length > maxItems || key === "length"))
    throw new Error("no index");
  return { parent, key };
}

function copy(value: unknown): unknown {
  if (!isJsonWithin({ value, maxBytes: maxCopyBytes })) throw new Error("too large");
  return structuredClone(value);
}

function ownMember(parent: Container, key: string): unknown {
  if (!Object.hasOwn(parent, key)) throw new Error("no such member");
  return parent[key];
}

function get(root: Container, pointer: unknown): unknown {
  const { parent, key } = locate(root, pointer);
  return ownMember(parent, key);
}

function take(root: Container, pointer: unknown): unknown {
  const { parent, key } = locate(root, pointer);
  const member = ownMember(parent, key);
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return member;
}

function put(root: Container, pointer: unknown, value: unknown): void {
  const { parent, key } = locate(root, pointer);
  if (!Array.isArray(parent)) {
    parent[key] = value;
    return;
  }
  const index = key === "-" ? parent.length : Number(key);
  if (!Number.isInteger(index) || index < 0 || index > parent.length) throw new Error("no index");
  parent.splice(index, 0, value);
}
