// Requests a URL repeatedly until stdin ends or nobody answers (status 0), then prints [{status, millis}] as JSON. It
// is a process of its own, because the event loop of a test that sends a flood is delayed itself. Arguments: the URL,
// and the headers as JSON.
import http from "node:http"

const [url, headers] = process.argv.slice(2)
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })

const ask = () =>
  new Promise((resolve) => {
    const began = performance.now()
    const end = (status) => resolve({ status, millis: performance.now() - began })
    http
      .get(url, { agent, headers: JSON.parse(headers) }, (answer) => {
        answer.resume().on("end", () => end(answer.statusCode))
      })
      .on("error", () => end(0))
  })

let isOver = false
process.stdin.on("end", () => (isOver = true)).resume()
process.stdout.write("asking\n")
const seen = []
do seen.push(await ask())
while (!isOver && seen.at(-1).status !== 0)
process.stdout.write(JSON.stringify(seen), () => process.exit())
