/** For `--require`: the parent tells the process how far its clock is ahead. */
const { setOffset, shiftWaiting } = require("../shift-date.cjs");

shiftWaiting();
setOffset(Number(process.env.REHEARSAL_OFFSET_MS ?? 0));
delete process.env.REHEARSAL_OFFSET_MS;
process.on("message", ({ offsetMs }) => setOffset(offsetMs));
process.channel?.unref();
