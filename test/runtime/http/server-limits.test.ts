/** The limits of HTTP servers: who gives up a body or a connection, and who never does. */
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { createBodyBudget, createConnectionLimit } from "@sekisho/runtime/http/server-limits.ts";

/** Bodies of a budget of 100 bytes. `cutOffs` names those that were cut off, in their order. */
function createBodies() {
  const budget = createBodyBudget({ maxBytes: 100 });
  const cutOffs: string[] = [];
  const open = (owner: string, name = owner) =>
    budget.openShare({ owner, cutOff: () => void cutOffs.push(name) });
  return { open, cutOffs };
}

describe("the budget of bodies", () => {
  it("cuts off the oldest unfinished body of the owner that holds most", () => {
    const { open, cutOffs } = createBodies();
    expect(open("small").reserve(10)).toBe(true);
    for (const name of ["first", "second", "third"])
      expect(open("large", name).reserve(30)).toBe(true);
    expect(open("other").reserve(30)).toBe(true);
    expect(cutOffs).toEqual(["first"]);
    expect(open("other").reserve(20)).toBe(true);
    expect(cutOffs).toEqual(["first", "second"]);
  });

  it("takes nothing from an owner that holds less", () => {
    const { open, cutOffs } = createBodies();
    expect(open("small").reserve(20)).toBe(true);
    const large = open("large");
    expect(large.reserve(80)).toBe(true);
    expect(large.reserve(1)).toBe(false);
    expect(open("large", "second").reserve(21)).toBe(true);
    expect(cutOffs).toEqual(["large"]);
    expect(large.reserve(1)).toBe(false);
  });

  it("refuses a body while all others are complete, until one of them is released", () => {
    const { open, cutOffs } = createBodies();
    const whole = open("a");
    expect(whole.reserve(80)).toBe(true);
    whole.complete();
    const late = open("b");
    expect(late.reserve(30)).toBe(false);
    whole.release();
    expect(late.reserve(30)).toBe(true);
    expect(cutOffs).toEqual([]);
  });

  it("returns the bytes of each body once, however often it is released", () => {
    const { open } = createBodies();
    const body = open("a");
    expect(body.reserve(100)).toBe(true);
    body.release();
    body.release();
    expect(open("b").reserve(100)).toBe(true);
    expect(open("c").reserve(101)).toBe(false);
  });
});

function createSockets(limits: { max: number; maxWaiting?: number }) {
  const { add, protect } = createConnectionLimit(limits);
  const closedNames: string[] = [];
  function open(name: string): Socket {
    const socket = Object.assign(new EventEmitter(), {
      destroyed: false,
      destroy() {
        socket.destroyed = true;
        closedNames.push(name);
        socket.emit("close");
      },
    }) as unknown as Socket & EventEmitter & { destroyed: boolean };
    add(socket);
    return socket;
  }
  return { open, protect, closed: closedNames };
}

describe("the limit of connections", () => {
  it("closes the connection that has waited longest, and never one whose request is being answered", () => {
    const { open, protect, closed } = createSockets({ max: 3 });
    const answeredSocket = open("a");
    const end = protect(answeredSocket);
    for (const name of ["b", "c", "d"]) open(name);
    expect(closed).toEqual(["b"]);
    end();
    for (const name of ["e", "f", "g"]) open(name);
    expect(closed).toEqual(["b", "c", "d", "a"]);
  });

  it("applies a lower limit to waiting connections", () => {
    const { open, protect, closed } = createSockets({ max: 4, maxWaiting: 2 });
    for (const name of ["a", "b", "c"]) open(name);
    expect(closed).toEqual(["a"]);
    for (const name of ["d", "e", "f"]) protect(open(name));
    expect(closed).toEqual(["a", "b"]);
    protect(open("g"));
    open("h");
    expect(closed).toEqual(["a", "b", "c", "h"]);
  });

  it("forgets a connection that closed before its request was protected", () => {
    const { open, protect, closed } = createSockets({ max: 1 });
    const destroyedSocket = open("a");
    destroyedSocket.destroy();
    protect(destroyedSocket)();
    open("b");
    expect(closed).toEqual(["a"]);
  });
});
