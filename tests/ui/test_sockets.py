"""What the server has to say leaves at once."""

import socket

from ui.server.sockets import send_at_once


def delays(connection):
    return not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_connections_send_at_once_though_their_socket_was_not_made_for_tcp_by_name():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert listening.proto == 0  # as Streamlit makes it: asyncio leaves those as they are
        for expected in (True, False):
            with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
                assert delays(accepted) == expected
            send_at_once()


def test_what_is_no_tcp_socket_stays_open_and_as_it_was(tmp_path):
    one, other = socket.socketpair()
    with (tmp_path / "file").open("w") as file, one, other, socket.socket(type=socket.SOCK_DGRAM):
        send_at_once()
        file.write("still open")
        one.send(b"still open")
        assert other.recv(10) == b"still open"
    assert (tmp_path / "file").read_text() == "still open"


def test_a_system_that_does_not_tell_what_is_open_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setattr("ui.server.sockets.OPEN", tmp_path / "none")
    send_at_once()
