/** For `--require`: the parent tells the process how far its clock is ahead. */
const { setOffset, shiftWaiting } = require("../shift-date.cjs");

shiftWaiting();
setOffset(Number(process.env.REHEARSAL_OFFSET_MS ?? 0));
delete process.env.REHEARSAL_OFFSET_MS;
const { setTimeout: wait } = globalThis;

/** Turns of the event loop in which the requests of timers that became due are sent, however slow the machine is. */
const turns = 10;
const turnMs = 10;

process.on("message", ({ offsetMs }) => {
  setOffset(offsetMs);
  const turn = (left) =>
    left === 0 ? process.send?.({ offsetMs }) : wait(() => turn(left - 1), turnMs);
  turn(turns);
});
process.channel?.unref();
