//! A real nginx on a port of its own, gone with its handle. For tests and benchmarks of the whole program.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Nginx {
    child: Child,
    pub port: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nginx {
    /// Serves `dir/site`, with these directives besides. One process, so that ending it ends all of it.
    pub(crate) fn start(dir: &Path, directives: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let here = dir.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
            .concat();
        let conf = format!(
            "daemon off; master_process off; pid {here}/pid; error_log {here}/error.log;\n\
             events {{ worker_connections 2048; }}\n\
             http {{ access_log off; default_type text/html; keepalive_requests 1000000; {temporary}\n\
             server {{ listen 127.0.0.1:{port}; root {here}/site; {directives} }} }}\n"
        );
        fs::write(dir.join("nginx.conf"), conf).unwrap();
        let child = Command::new("nginx")
            .args(["-e", "stderr", "-c"])
            .arg(dir.join("nginx.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let nginx = Self { child: child.expect("nginx is needed: apt-get install nginx"), port };
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "nginx does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        nginx
    }
}
