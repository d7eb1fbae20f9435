/** Which tasks of the list are shown. */

export const shows = {
  all: () => true,
  open: ({ state }) => state !== "done",
  failed: ({ kind }) => kind === "bad",
  mine: ({ user }, me) => me !== "" && user === me,
};

/** Every word of `text` must be in an id, a name or a state of the row. */
export function filtered(rows, { show, text, me }) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => shows[show](row, me) && words.every((word) => haystack(row).includes(word)));
}

function haystack({ id, taskId, state, destination, team, channel, user, thread, words, retryOf }) {
  return [id, taskId, state, destination, team, channel, user, thread, words, retryOf].join(" ").toLowerCase();
}
