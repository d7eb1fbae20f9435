/** For `--require`: the process is told by its parent how far its time is ahead. */
const { setOffset, shiftWaiting } = require("../shift-date.cjs");

shiftWaiting();
setOffset(Number(process.env.REHEARSAL_OFFSET_MS ?? 0));
delete process.env.REHEARSAL_OFFSET_MS;
process.on("message", ({ offsetMs }) => setOffset(offsetMs));
process.channel?.unref();
