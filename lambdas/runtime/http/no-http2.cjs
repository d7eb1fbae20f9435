// Takes the place of node:http2 in a bundle that speaks HTTP/1.1 alone. Undici reads its constants when it is loaded.
module.exports = { constants: {} };
