//! Messages, methods and revisions of the Model Context Protocol: no I/O, no runtime.
