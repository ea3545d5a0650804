package child

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// What a child inherits.
const (
	socketFile = 3
	lifeFile   = 4
)

// Engine is the connection of a child that is a Go program to the process that started it. One goroutine at a
// time sends, and one receives.
type Engine struct{ sock *os.File }

// Inherit takes over what Start gave this process, which from then on ends when the one that started it does.
func Inherit() *Engine {
	life := os.NewFile(lifeFile, "life")
	go func() { // owned by the process, which it ends
		_, _ = life.Read(make([]byte, 1))
		os.Exit(1)
	}()
	return &Engine{os.NewFile(socketFile, "engine")}
}

// Receive reads a message; io.EOF says that there are no more.
func (e *Engine) Receive(msg any) error {
	var head [4]byte
	if _, err := io.ReadFull(e.sock, head[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxMessage {
		return fmt.Errorf("read message: %d bytes are above the limit of %d", n, maxMessage)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(e.sock, body); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	if err := json.Unmarshal(body, msg); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	return nil
}

// Send writes a message.
func (e *Engine) Send(msg any) error {
	body, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	_, err = e.sock.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}
